"""Whether a curriculum, other draws of rows or a continuation help: trained and compared.

The same model is trained from several seeds with each of some options of the solver, with the same
first weights, the same number of steps and the same batches where these are not drawn. All are
judged by the plain loss on the same rows. Differences from the first option are paired by seeds.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import stats

from likely.base.settings import at_least
from likely.core.checks import InputError, check_batch
from likely.core.compiling import lean_jit
from likely.core.random import key_of
from likely.diagnostics.result import Result
from likely.evaluate.scores import Score
from likely.families import Normal
from likely.layers import initial_state
from likely.objectives import NegativeLogLikelihood
from likely.solvers import Adam, Constant
from likely.solvers.first_order.rules import AbstractFirstOrder
from likely.solvers.training import Plan, train_members
from likely.solvers.training.divergence import DivergenceWarning
from likely.typing import DIVERGED, Batch

LEVEL = 0.95
"""Of the intervals by which a difference is shown."""
DIVERGED_FACTOR = 10.0
"""A run has diverged whose loss is beyond this many times that of its first weights."""


@dataclass(frozen=True, repr=False, eq=False)
class CurriculumStudy(Result):
    """Losses of trained models, by option and seed; the first option is compared with."""

    names: tuple[str, ...]
    losses: Float[np.ndarray, "o s"]
    """The plain loss on the rows of the judgement, in nats; infinite where a run diverged."""
    steps: int

    @property
    def mean(self) -> list[Score]:
        """The mean loss of each option over seeds, and its standard error."""
        return [_score(row[np.isfinite(row)]) for row in self.losses]

    @property
    def gain(self) -> list[Score]:
        """By how much each option is lower than the first, paired by seeds."""
        with np.errstate(invalid="ignore"):
            pairs = [self.losses[0] - row for row in self.losses]
        return [_score(d[np.isfinite(d)]) for d in pairs]

    def shown(self, option: int) -> int:
        """1 if an option is shown to be better than the first, −1 if worse, else 0.

        That is by Student's t of the differences, or where runs diverged by their signs.
        """
        first, other = self.losses[0], self.losses[option]
        better, worse = int((other < first).sum()), int((other > first).sum())
        if np.isfinite(first).all() and np.isfinite(other).all():
            gain, count = self.gain[option], len(first)
            reach = stats.t.ppf((1 + LEVEL) / 2, count - 1) * gain.error
            return int(np.sign(gain.value)) if abs(gain.value) > reach else 0
        if not better + worse:
            return 0
        p = stats.binomtest(better, better + worse).pvalue
        return int(np.sign(better - worse)) if p < 1 - LEVEL else 0

    @property
    def verdict(self) -> str:
        """Which options help, which harm, and for which neither is shown."""
        words = {1: "helps", -1: "harms", 0: "is not shown to matter"}
        mean = self.mean[0].value
        reached = f" reaches {mean:.3g} nats" if np.isfinite(mean) else ""
        parts = [f"{self.names[0]}{reached}{self._diverged(0)}"]
        for i, name in enumerate(self.names[1:], 1):
            gain, size = self.gain[i], ""
            if np.isfinite(gain.error):
                size = f": {gain.value:+.2g} ± {gain.error:.1g} nats"
            parts.append(f"{name} {words[self.shown(i)]}{size}{self._diverged(i)}")
        sentence = "; ".join(parts) + "."
        return sentence[0].upper() + sentence[1:]

    def _diverged(self, option: int) -> str:
        lost = int((~np.isfinite(self.losses[option])).sum())
        seeds = self.losses.shape[1]
        return f" (diverged from {lost} of {seeds} seeds)" if lost else ""

    def table(self) -> dict[str, Any]:
        """Mean losses and differences by option."""
        better = [float((self.losses[0] > row).mean()) for row in self.losses]
        return {
            "option": list(self.names),
            "loss": [s.value for s in self.mean],
            "error": [s.error for s in self.mean],
            "gain": [None, *(s.value for s in self.gain[1:])],
            "its error": [None, *(s.error for s in self.gain[1:])],
            "better in": [None, *better[1:]],
        }

    def plot(self) -> Any:
        """The loss of each seed and the means, by option."""
        from likely.plots import curriculum_study

        return curriculum_study(self)


def _score(values: np.ndarray) -> Score:
    if not len(values):
        return Score(float("nan"), float("nan"))
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Score(float(values.mean()), float(error))


class _Settings(eqx.Module):
    """A model that is built from settings."""

    settings: Any
    n_in: int = eqx.field(static=True)
    n_out: int = eqx.field(static=True)

    def build(self, key: Any) -> Any:
        return self.settings.build(self.n_in, self.n_out, key=key)


class _Function(eqx.Module):
    """A model that a named function makes."""

    build: Callable = eqx.field(static=True)


def curriculum_study(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    options: Mapping[str, Mapping[str, Any]],
    family: Any = None,
    solver: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    n_seeds: int = 10,
    random_state: Any = 0,
) -> CurriculumStudy:
    """Train a model with several options of its solver, and compare where they arrive.

    Args:
        model: settings of a model with `build(n_in, n_out, key=)`, such as `models.MLP`, or a
            named function of a random key that makes a model.
        X: (n, ...) inputs.
        y: (n,) targets.
        sample_weight: how often each row counts.
        options: by name what is set in the solver: `{"sampling": ..., "continuation": ...}` or
            any other of its settings; the first, usually {}, is what others are compared with.
        family: p(y | θ); None is normal with a scale of 1.
        solver: a first-order solver; None is Adam with 1,000 steps on minibatches of 32.
        X_val: inputs to be judged on; None judges on the rows of the training.
        y_val: their targets.
        n_seeds: first weights and batches to train from.
        random_state: the seed of all.
    """
    family = Normal(scale=1.0) if family is None else family
    if solver is None:
        solver = Adam(Constant(1e-2), steps=1000, batch_size=32)
    _check(solver, options)
    n_seeds = at_least("n_seeds", n_seeds, 2, whole=True)
    data = _rows(X, y, sample_weight)
    other = data if X_val is None else _rows(X_val, y_val, None)
    NegativeLogLikelihood.check(family, data)
    keys = jax.random.split(key_of(random_state), n_seeds)
    make = _maker(model, data.x.shape[-1], family.n_eta)
    losses = []
    with jax.enable_x64(False):
        for given in options.values():
            changed = _with(solver, given)
            shared = {"make": make, "family": family, "data": data, "solver": changed}
            losses.append(_losses(shared, other, keys))
    return CurriculumStudy(tuple(options), np.array(losses), int(np.max(solver.steps)))


def _check(solver: Any, options: Mapping[str, Mapping[str, Any]]) -> None:
    if not isinstance(solver, AbstractFirstOrder):
        raise InputError(
            f"solver is {type(solver).__name__}; weights that change from step to step need a "
            "first-order solver, such as Adam."
        )
    if len(options) < 2:
        raise InputError(
            "give at least two options, the first to compare with: "
            '{"all rows alike": {}, "curriculum": {"sampling": Curriculum(...)}}.'
        )


def _with(solver: AbstractFirstOrder, given: Mapping[str, Any]) -> AbstractFirstOrder:
    """The solver with other settings."""
    names = set(solver.__dataclass_fields__)
    if unknown := set(given) - names:
        raise InputError(
            f"{type(solver).__name__} has no {', '.join(sorted(unknown))}; its settings are "
            f"{', '.join(sorted(names))}."
        )
    values = {name: getattr(solver, name) for name in names}
    return type(solver)(**(values | dict(given)))


def _rows(X: Any, y: Any, w: Any) -> Batch:
    batch = check_batch(Batch(np.asarray(X, float), np.asarray(y, float), w))
    return jax.tree.map(lambda a: np.asarray(a, np.float32), batch)


def _maker(model: Any, n_in: int, n_out: int) -> eqx.Module:
    if hasattr(model, "build"):
        return _Settings(model, n_in, n_out)
    if not callable(model) or isinstance(model, eqx.Module) or hasattr(model, "fit"):
        raise InputError(
            f"{type(model).__name__} does not say how its first weights are drawn; give settings "
            "with `build`, such as `models.MLP((32,))`, or a function of a random key."
        )
    return _Function(model)


def _plan(key: Any, shared: dict[str, Any]) -> Plan:
    """The training of one seed; traced, for all seeds at once."""
    first, then = jax.random.split(key)
    network, data = shared["make"].build(first), shared["data"]
    objective = NegativeLogLikelihood.of(shared["family"], data)
    state = initial_state(network)
    return Plan(shared["solver"], objective, network, data, then, state)


def _losses(shared: dict[str, Any], other: Batch, keys: Any) -> np.ndarray:
    """The plain loss of each seed on the rows of the judgement."""
    with warnings.catch_warnings():  # the result says so
        warnings.simplefilter("ignore", DivergenceWarning)
        found = train_members(_plan, jax.random.clone(keys), shared)
    objective = NegativeLogLikelihood.of(shared["family"], other)
    arrays, static = eqx.partition((found.model, found.state), eqx.is_array)
    losses = np.asarray(_judged(static, objective, arrays, other), np.float64)
    first = np.asarray(_first(shared, objective, other, jax.random.clone(keys)))
    bad = ~(losses < DIVERGED_FACTOR * (np.abs(first) + 1))
    return np.where(bad | (found.status.reason == DIVERGED), np.inf, losses)


@lean_jit
def _first(shared: Any, objective: Any, other: Batch, keys: Any) -> Float[Array, " s"]:
    """The loss of the first weights of each seed."""
    rows = jax.tree.map(jnp.asarray, other)

    def one(key: Any) -> Array:
        plan = _plan(key, shared)
        return objective(plan.model, rows, key=None, state=plan.state)[0]

    return jax.vmap(one)(keys)


@lean_jit
def _judged(
    static: Any, objective: Any, arrays: Any, other: Batch
) -> Float[Array, " s"]:
    rows = jax.tree.map(jnp.asarray, other)

    def one(arrays: Any) -> Array:
        model, state = eqx.combine(arrays, static)
        return objective(model, rows, key=None, state=state)[0]

    return jax.vmap(one)(arrays)
