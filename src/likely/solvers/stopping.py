r"""Stopping rules of the first-order solvers.

Rules are values and compose: `Adam(..., stop=(GradientNorm(1e-6), RelativeLoss(1e-9)))`
stops at the first that holds. The step limit and divergence need no rule.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import GRADIENT, LOSS, PARAMETERS, VALIDATION, Batch, State

NOT_KEPT = 2**31 - 1
"""An index beyond every array, which `mode="drop"` ignores."""


class Observation(NamedTuple):
    """The numbers of a step that stopping rules may use."""

    loss: Float[Array, ""]
    gradient: Float[Array, ""]
    """Largest absolute entry."""
    moved: Float[Array, ""]
    """Length of the step that led here (infinite at the start)."""


class AbstractStop(eqx.Module):
    """A rule that is checked at each step."""

    reason: eqx.AbstractClassVar[int]
    """The reason to stop, one of `typing.REASONS`."""

    @abstractmethod
    def init(self) -> PyTree:
        """The state before the first step."""

    @abstractmethod
    def check(
        self, memory: PyTree, seen: Observation
    ) -> tuple[Bool[Array, ""], Float[Array, ""], PyTree]:
        """Whether to stop, the number that says why, and the new state."""


class ParameterChange(AbstractStop):
    r"""$\lVert θ_{t+1} - θ_t\rVert^2 < ε$: the parameters hardly change."""

    tolerance: Real = real(1e-12)
    reason: ClassVar[int] = PARAMETERS

    def init(self) -> None:
        return None

    def check(self, memory, seen):
        return seen.moved**2 < self.tolerance, seen.moved, None


class GradientNorm(AbstractStop):
    r"""$\max_j |g_j| \le ε$: the gradient is small."""

    tolerance: Real = real(1e-6)
    reason: ClassVar[int] = GRADIENT

    def init(self) -> None:
        return None

    def check(self, memory, seen):
        return seen.gradient <= self.tolerance, seen.gradient, None


class RelativeLoss(AbstractStop):
    r"""$|f_t - f_{t-1}| \le ε\,|f_t|$, `patience` times in a row."""

    tolerance: Real = real(1e-9)
    patience: Whole = whole(1)
    reason: ClassVar[int] = LOSS

    def init(self):
        return jnp.full((), jnp.inf), jnp.zeros((), jnp.int32)

    def check(self, memory, seen):
        last, count = memory
        change = jnp.abs(seen.loss - last)
        holds = change <= self.tolerance * jnp.abs(seen.loss)
        count = jnp.where(holds, count + 1, 0)
        relative = change / jnp.maximum(jnp.abs(seen.loss), jnp.finfo(last.dtype).tiny)
        return count >= self.patience, relative, (seen.loss.astype(last.dtype), count)


class Best(NamedTuple):
    """The lowest validation loss, with the training loss and parameters of its step."""

    loss: Float[Array, ""]
    training: Float[Array, ""]
    params: PyTree
    state: PyTree
    waited: Int[Array, ""]
    """Checks since the lowest loss."""
    checks: Int[Array, ""]
    """Number of validation losses so far."""
    losses: Float[Array, " checks"]
    """The validation losses, thinned evenly; NaN after the last."""


class Validation(eqx.Module):
    """Stop when the loss on other rows has stopped falling; keep the best parameters.

    Args:
        data: rows that are not used for the fit.
        patience: number of checks in a row that may be no better than the best.
        every: epochs between checks (an epoch of a full-batch solver is one step).
    """

    data: Batch
    patience: Whole = whole(10)
    every: int = eqx.field(static=True, default=1)
    reason: ClassVar[int] = VALIDATION

    def init(
        self, training: Float[Array, ""], params: PyTree, state: State, capacity: int
    ) -> Best:
        """The record before the first check."""
        worst, zero = jnp.full_like(training, jnp.inf), jnp.zeros((), jnp.int32)
        losses = jnp.full(capacity, jnp.nan, training.dtype)
        return Best(worst, training, params, state, zero, zero, losses)

    def update(self, best: Best, loss: Float[Array, ""], run: Any, stride: Any) -> Best:
        """The record with one more validation loss; every `stride`-th loss is kept."""
        better = loss < best.loss

        def choose(new: Any, old: Any) -> Any:
            return jnp.where(better, new.astype(old.dtype), old)

        slot = jnp.where(best.checks % stride == 0, best.checks // stride, NOT_KEPT)
        return Best(
            loss=choose(loss, best.loss),
            training=choose(run.loss, best.training),
            params=jax.tree.map(choose, run.params, best.params),
            state=jax.tree.map(choose, run.state, best.state),
            waited=jnp.where(better, 0, best.waited + 1),
            checks=best.checks + 1,
            losses=best.losses.at[slot].set(
                loss.astype(best.losses.dtype), mode="drop"
            ),
        )
