r"""The values and protocols that every room shares.

    Batch       x, y, w                          w=2 is "this row twice", w=0 "absent"
    Model       model(X, *, w, key, state) -> (eta, state)
    Objective   objective(model, batch, *, key, state) -> (loss, state)
    Solver      minimize(objective, model, data, *, key) -> Solution
    Learner     learn(key, hyper, batch) -> phi;  eta(phi, X) -> eta

One argument tells training from use: **`key=None` is inference**. Dropout is then off,
and running statistics are read but not updated. Every solver passes a key.

`state` is `None` unless a layer keeps running statistics (batch norm). Axis
letters: `n` rows, `d` inputs, `k` entries of η, `c` classes, `p` coefficients.
"""

from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    runtime_checkable,
)

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

Key = PRNGKeyArray
State = PyTree | None
if TYPE_CHECKING:
    Number = Any
else:
    Number = Float[Array | np.ndarray, ""]
M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


class Batch(NamedTuple):
    """Rows and their weights: `w=2` is exactly "this row twice", `w=0` "absent"."""

    x: Any
    """(n, ...) inputs, or a condition, or None."""
    y: Any
    """(n, ...) what the distribution is over."""
    w: Any
    """(n,) how often each row counts."""


MAX_SHOWN_RUNS = 10
"""Runs whose status is shown; there may be thousands."""


def _has_values(tree: PyTree) -> bool:
    """Whether the arrays are known, so that they can be shown as numbers."""
    leaves = jax.tree.leaves(tree)
    known = np.ndarray | np.generic | jax.Array | float | int
    return all(isinstance(a, known) and not isinstance(a, Tracer) for a in leaves)


def _course(values: Any) -> str:
    """The first and the last number of the first run, as text."""
    run = np.asarray(values)
    run = run.reshape(-1, run.shape[-1])[0] if run.ndim else run[None]
    run = run[~np.isnan(run)]
    if not len(run):
        return "unknown"
    return f"{run[0]:.4g}" if len(run) == 1 else f"{run[0]:.4g} to {run[-1]:.4g}"


@runtime_checkable
class Model(Protocol):
    """A model η = f(x; φ): a callable pytree whose inexact array leaves are φ."""

    def __call__(
        self, X: Any, *, w: Any = None, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, "n k"], State]:
        """The (n, k) unconstrained η of rows `X`, and the state after them."""
        ...


@runtime_checkable
class LinearModel(Model, Protocol):
    """A model whose η = A(X) B is linear in its coefficients B, up to an offset."""

    @property
    def coefficients(self) -> Float[Array, "p k"]:
        """B, the bias row (if any) last."""
        ...

    def design(self, X: Any) -> Float[Array, "n p"]:
        """A(X), the bias column (if any) last."""
        ...

    def with_coefficients(self, B: Float[Array, "p k"]) -> "LinearModel":
        """The same model with other coefficients."""
        ...


@runtime_checkable
class SharedModel(Model, Protocol):
    """A model η = (f(x), tail): the last entries of η are the same for all rows."""

    model: Any
    """f."""
    tail: Float[Array, " t"]
    order: Any
    """How the entries of η are permuted, or None."""


class Objective(Protocol[M_contra]):
    """What is minimised, in nats per unit of weight."""

    def __call__(
        self,
        model: M_contra,
        batch: Batch,
        *,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, ""], State]:
        """The loss on a batch, and the state after it."""
        ...


class Separable(Objective[M_contra], Protocol[M_contra]):
    """An objective that is a weighted mean over rows of a function of η, plus a penalty.

    Newton's method, boosting and influence functions need this view.
    """

    def pointwise(self, eta: Float[Array, "n k"], y: Any) -> Float[Array, " n"]:
        """The loss of each row, before weighting."""
        ...

    def penalty(self, model: M_contra) -> Float[Array, ""]:
        """The penalty on the parameters, in nats per unit of weight."""
        ...


class Proximable(Protocol[M_contra]):
    """An objective with a smooth part and a non-smooth part of known proximal map."""

    def smooth(
        self, model: M_contra, batch: Batch, *, key: Key | None, state: State
    ) -> tuple[Float[Array, ""], State]:
        """The differentiable part of the objective."""
        ...

    def prox(self, model: Any, step: Float[Array, ""]) -> Any:
        """The proximal map of the non-smooth part h: argmin of step · h(m) + ½‖m − model‖²."""
        ...


class Trace(eqx.Module):
    """The history of a minimisation; entries after the last step are NaN."""

    loss: Float[Array | np.ndarray, "..."]
    """(steps,), after any axes of a batch of runs."""
    gradient: Float[Array | np.ndarray, "..."]
    """Largest absolute entry of the gradient."""
    step: Float[Array | np.ndarray, "..."]
    """Step sizes."""
    model: PyTree | None = None
    """The parameters after each step, where they were asked for."""
    validation: Float[Array | np.ndarray, "..."] | None = None
    """The validation loss at each evaluation, where there are validation rows."""

    def __repr__(self) -> str:
        if not _has_values(self):
            return super().__repr__()
        runs = np.atleast_2d(np.asarray(self.loss))
        runs = runs.reshape(-1, runs.shape[-1])
        counts = (~np.isnan(runs)).sum(1)
        several = "" if len(runs) == 1 else f"{len(runs)} runs, the first with "
        points = f"{several}{counts[0]} points"
        parts = {"loss": self.loss, "gradient": self.gradient, "step": self.step}
        if self.validation is not None:
            parts["validation"] = self.validation
        texts = [f"{name} {_course(values)}" for name, values in parts.items()]
        return f"Trace: {points}; {', '.join(texts)}"


class Status(eqx.Module):
    """How a minimisation ended; `str(status)` is the sentence."""

    reason: Int[Array | np.ndarray, "*batch"]
    """Index into `REASONS`."""
    steps: Int[Array | np.ndarray, "*batch"]
    value: Float[Array | np.ndarray, "*batch"]
    """Largest absolute entry of the last gradient, or the loss that was not finite."""

    @property
    def converged(self) -> np.ndarray:
        """Whether a minimum was reached (elementwise for a batch of runs)."""
        return np.isin(np.asarray(self.reason), CONVERGED)

    @property
    def sentences(self) -> list[str]:
        """One sentence for each run."""
        parts = (np.ravel(np.asarray(a)) for a in (self.reason, self.steps, self.value))
        return [
            REASONS[r].format(steps=s, value=v) for r, s, v in zip(*parts, strict=True)
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        if not _has_values(self):
            return super().__repr__()
        sentences = self.sentences
        if len(sentences) == 1:
            return f"Status: {sentences[0]}"
        rows = [f"  {k}: {s}" for k, s in enumerate(sentences[:MAX_SHOWN_RUNS])]
        rows += ["  ..."] if len(sentences) > MAX_SHOWN_RUNS else []
        return "\n".join([f"Status of {len(sentences)} runs:", *rows])


(
    RUNNING,
    STEP_LIMIT,
    GRADIENT,
    EXACT,
    JITTERED,
    ROUNDING,
    PARAMETERS,
    LOSS,
    GAP,
    VALIDATION,
    TRAINED,
    STALLED,
    DIVERGED,
    LEAST_NORM,
    UNDETERMINED,
    CALLED_OFF,
) = range(16)
REASONS = (
    "still running after {steps} steps",
    "stopped at the step limit after {steps} steps; "
    "the largest gradient entry is still {value:.3g}",
    "converged after {steps} steps: the largest gradient entry is {value:.3g}",
    "solved exactly: the largest gradient entry is {value:.3g}",
    "solved with a jitter because the design is singular: the largest gradient entry "
    "is {value:.3g}; some coefficients are not determined by the data",
    "converged after {steps} steps to the limit of rounding: no lower loss along the "
    "search direction, the largest gradient entry is {value:.3g}",
    "converged after {steps} steps: the parameters moved by {value:.3g}",
    "converged after {steps} steps: the loss changed by {value:.3g} of itself",
    "converged after {steps} steps: the duality gap is {value:.3g}",
    "stopped after {steps} steps: the validation loss no longer falls, "
    "its lowest value was {value:.6g}",
    "trained for {steps} steps; the largest entry of the last gradient was {value:.3g}",
    "stopped after {steps} steps: no lower loss along the search direction although "
    "the largest gradient entry is {value:.3g}; the objective may not suit this solver",
    "diverged at step {steps}: the loss became {value}; "
    "try a smaller step or scaled inputs",
    "solved exactly by the solution of least norm because the design is singular: the "
    "largest gradient entry is {value:.3g}",
    "stopped after {steps} steps where the loss does not depend on all parameters: the "
    "data there do not determine them (the largest gradient entry is {value:.3g}); "
    "try another start",
    "stopped after {steps} steps because a callback asked for it; the largest gradient "
    "entry was {value:.3g}",
)
CONVERGED = (GRADIENT, EXACT, JITTERED, ROUNDING, PARAMETERS, LOSS, GAP, LEAST_NORM)


class Solution(eqx.Module, Generic[M]):
    """What a solver returns."""

    model: M
    state: State
    loss: Float[Array | np.ndarray, "*batch"]
    """The final objective, in nats per unit of weight."""
    trace: Trace
    status: Status

    def __repr__(self) -> str:
        if not _has_values((self.loss, self.status)):
            return super().__repr__()
        name, loss = type(self.model).__name__, np.asarray(self.loss)
        text = f"{loss:.6g}" if loss.ndim == 0 else f"{loss.mean():.6g} on average"
        return f"Solution of {name}, loss {text}\n{self.status!r}"


@runtime_checkable
class Solver(Protocol):
    """How an objective is minimised: settings only, no probability."""

    def minimize(
        self,
        objective: Any,
        model: M,
        data: Batch,
        *,
        key: Key | None,
        state: State = None,
    ) -> Solution[M]:
        """Start at `model` (and `state`) and return where the objective is low."""
        ...


@runtime_checkable
class Learner(Protocol):
    """The pure core of an estimator: `vmap` it over keys, hyper-parameters, weights."""

    family: Any
    """The family of p(y | x); None for learners without a likelihood."""

    def learn(self, key: Key, hyper: dict[str, Any], batch: Batch) -> PyTree:
        """The parameters φ fitted to data."""
        ...

    def eta(self, phi: PyTree, X: Any) -> Float[Array, "n k"]:
        """The η of each row of `X`."""
        ...

    def losses(self, phi: PyTree, batch: Batch) -> Float[Array, " n"]:
        """The loss −log p(yᵢ | xᵢ) of each row, in nats, for cross-validation."""
        ...


@runtime_checkable
class PartsLearner(Learner, Protocol):
    """A learner with a fast way to fit without each of several parts of the rows."""

    @property
    def leaves_out(self) -> bool:
        """Whether this learner, with its settings, can use the fast way."""
        ...

    def leave_out(
        self, hypers: dict[str, Any], parts: Batch
    ) -> tuple[PyTree, Float[Array, "m j"]]:
        """The φ fitted without each part, and the nats of that part, for every setting."""
        ...

    def leave_out_on_host(
        self, hypers: dict[str, Any], batch: Batch, train: Float[np.ndarray, "j n"]
    ) -> PyTree | None:
        """The φ alone in NumPy, each fold by its weights of rows, or None."""
        ...
