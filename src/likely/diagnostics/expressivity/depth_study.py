r"""Deep and shallow networks with the same number of parameters, trained on the same targets.

What can be represented (`depth_table`) is one thing, what training finds another. For each target
networks of several depths, as wide as the number of parameters allows, are fitted to points of the
function, from several seeds, all seeds as one program. The answer depends on the solver too: a
network that is not trained to its limits says little about what it can represent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import stats

from likely.autodiff.networks.depth import parameter_count
from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.random import key_of
from likely.diagnostics.expressivity.approximation import Target
from likely.diagnostics.result import Result
from likely.families import Normal
from likely.models import MLP
from likely.objectives import NegativeLogLikelihood
from likely.solvers import LBFGS
from likely.typing import Batch

TRAINING_POINTS, CHECK_POINTS = 256, 2001
STEPS = 600


@dataclass(frozen=True, repr=False, eq=False)
class DepthStudy(Result):
    """Errors of trained networks, by target and depth."""

    targets: tuple[str, ...]
    depths: tuple[int, ...]
    widths: tuple[int, ...]
    parameters: tuple[int, ...]
    errors: Float[np.ndarray, "t k s"]
    """The root of the mean squared error on a fine grid, of each seed, relative to the standard
    deviation of the target."""

    @property
    def mean(self) -> Float[np.ndarray, "t k"]:
        """Geometric means over seeds."""
        return np.exp(np.log(self.errors).mean(2))

    @property
    def log_error(self) -> Float[np.ndarray, "t k"]:
        """Standard errors of the natural logarithms of these means."""
        return np.log(self.errors).std(2, ddof=1) / np.sqrt(self.errors.shape[2])

    @property
    def verdict(self) -> str:
        """Whether depth helped, target by target."""
        return " ".join(map(self._compared, range(len(self.targets))))

    def _compared(self, t: int) -> str:
        best = int(self.mean[t].argmin())
        name, depth = self.targets[t], self.depths[best]
        ratio = self.mean[t, 0] / self.mean[t, best]
        spread = np.hypot(self.log_error[t, 0], self.log_error[t, best])
        critical = stats.t.ppf(0.975, 2 * self.errors.shape[2] - 2)
        if best == 0 or np.log(ratio) <= critical * spread:
            return (
                f"For the {name} no depth is shown to be better than {self.depths[0]}."
            )
        return (
            f"For the {name} {depth} hidden layers are best: {ratio:.2g} times (a factor of "
            f"{np.exp(spread):.2g} either way) nearer than {self.depths[0]}."
        )

    def table(self) -> dict[str, Any]:
        """Errors by target and depth."""
        at = [(t, k) for t in range(len(self.targets)) for k in range(len(self.depths))]
        return {
            "target": [self.targets[t] for t, _ in at],
            "hidden layers": [self.depths[k] for _, k in at],
            "units each": [self.widths[k] for _, k in at],
            "parameters": [self.parameters[k] for _, k in at],
            "relative error": [float(self.mean[i]) for i in at],
            "factor of error": [float(np.exp(self.log_error[i])) for i in at],
        }

    def plot(self) -> Any:
        """Errors over depth for each target."""
        from likely.plots import depth_study

        return depth_study(self)


def iterated_parabola(x: np.ndarray) -> np.ndarray:
    """4x(1 − x) three times over: a composition with four humps on [0, 1]."""
    for _ in range(3):
        x = 4 * x * (1 - x)
    return x


def random_line(n_pieces: int = 16, random_state: int = 3) -> Callable:
    """A polygonal line through random values on [0, 1].

    Args:
        n_pieces: pieces of equal width.
        random_state: the seed of the values.
    """
    values = np.random.default_rng(random_state).normal(size=n_pieces + 1)
    return lambda x: np.interp(x, np.linspace(0, 1, n_pieces + 1), values)


def depth_study(
    targets: Mapping[str, Callable] | None = None,
    low: Any = 0.0,
    high: Any = 1.0,
    *,
    depths: Sequence[int] = (1, 2, 4),
    n_parameters: int = 200,
    activation: Any = "tanh",
    solver: Any = None,
    n_seeds: int = 6,
    random_state: Any = 0,
) -> DepthStudy:
    """Train networks of several depths with about the same number of parameters.

    Args:
        targets: functions of a number by name; None takes an iterated parabola, which is a
            composition, and a line through random values, which is none.
        low: the lower end of the interval.
        high: the upper end.
        depths: hidden layers to compare.
        n_parameters: what no network exceeds.
        activation: of the hidden units.
        solver: one of `likely.solvers`; None is L-BFGS with 600 steps.
        n_seeds: networks of each kind, from other weights.
        random_state: the seed.
    """
    if targets is None:
        targets = {"iterated parabola": iterated_parabola, "random line": random_line()}
    n_seeds = at_least("n_seeds", n_seeds, 2, whole=True)
    solver = LBFGS(STEPS, 1e-9) if solver is None else solver
    widths = tuple(_width(k, n_parameters) for k in depths)
    keys = jax.random.split(key_of(random_state), n_seeds)
    errors = np.array(
        [
            [
                _trained(Target(f, low, high), MLP((w,) * k, activation), solver, keys)
                for k, w in zip(depths, widths, strict=True)
            ]
            for f in targets.values()
        ]
    )
    counts = [
        parameter_count((1, *(w,) * k, 1)) for k, w in zip(depths, widths, strict=True)
    ]
    return DepthStudy(tuple(targets), tuple(depths), widths, tuple(counts), errors)


def _width(depth: int, most: int) -> int:
    """The widest layers that so many parameters allow."""
    width = 0
    while parameter_count((1, *(width + 1,) * depth, 1)) <= most:
        width += 1
    if width < 1:
        raise InputError(f"{most} parameters are too few for {depth} hidden layers.")
    return width


def _trained(target: Target, settings: MLP, solver: Any, keys: Any) -> np.ndarray:
    """The relative errors of networks from several seeds."""
    rows, check = (target.grid(n) for n in (TRAINING_POINTS, CHECK_POINTS))
    values, truth = target(rows), target(check)
    shift, scale = values.mean(), values.std() or 1.0
    middle, half = (target.low + target.high) / 2, target.width / 2
    with float64():
        z, far = (jnp.asarray((X - middle) / half) for X in (rows, check))
        data = Batch(z, jnp.asarray((values - shift) / scale), jnp.ones(len(z)))
        outputs = np.asarray(
            _fitted(settings, solver, data, far, jax.random.clone(keys))
        )
    gaps = outputs - (truth - shift) / scale
    return np.sqrt((gaps**2).mean(1))


@lean_jit
def _fitted(
    settings: MLP, solver: Any, data: Batch, far: Array, keys: Any
) -> Float[Array, "s n"]:
    objective = NegativeLogLikelihood.of(Normal(scale=1.0), data)

    def one(key: Any) -> Array:
        first, then = jax.random.split(key)
        model: Any = settings.build(1, 1, key=first)
        wide = lambda a: a.astype(far.dtype) if eqx.is_inexact_array(a) else a  # noqa: E731
        model = jax.tree.map(wide, model)
        place = jax.random.uniform(jax.random.fold_in(first, 1), (settings.hidden[0],))
        model = eqx.tree_at(  # units that turn all over the interval
            lambda m: m.layers[0].bias,
            model,
            (2 * place - 1) * jnp.abs(model.layers[0].weight[0]),
        )
        found = solver.minimize(objective, model, data, key=then)
        return found.model(far)[0][:, 0]

    return jax.vmap(one)(keys)
