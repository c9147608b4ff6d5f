r"""Stopping rules: when an iteration has done enough.

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

FOREVER = 2**31 - 1


class Seen(NamedTuple):
    """What a rule may look at, at each step."""

    loss: Float[Array, ""]
    gradient: Float[Array, ""]
    """Largest absolute entry."""
    moved: Float[Array, ""]
    """Length of the step that led here (infinite at the start)."""


class AbstractStop(eqx.Module):
    """A rule that is asked at each step."""

    reason: eqx.AbstractClassVar[int]
    """Which of `typing.REASONS` it gives."""

    @abstractmethod
    def init(self) -> PyTree:
        """The memory before the first step."""

    @abstractmethod
    def judge(
        self, memory: PyTree, seen: Seen
    ) -> tuple[Bool[Array, ""], Float[Array, ""], PyTree]:
        """Whether to stop, the number that says why, and the new memory."""


class ParameterChange(AbstractStop):
    r"""$\lVert θ_{t+1} - θ_t\rVert^2 < ε$: the parameters have come to rest."""

    tolerance: Real = real(1e-12)
    reason: ClassVar[int] = PARAMETERS

    def init(self) -> None:
        return None

    def judge(self, memory, seen):
        return seen.moved**2 < self.tolerance, seen.moved, None


class GradientNorm(AbstractStop):
    r"""$\max_j |g_j| \le ε$: the slope is gone."""

    tolerance: Real = real(1e-6)
    reason: ClassVar[int] = GRADIENT

    def init(self) -> None:
        return None

    def judge(self, memory, seen):
        return seen.gradient <= self.tolerance, seen.gradient, None


class RelativeLoss(AbstractStop):
    r"""$|f_t - f_{t-1}| \le ε\,|f_t|$, `patience` times in a row."""

    tolerance: Real = real(1e-9)
    patience: Whole = whole(1)
    reason: ClassVar[int] = LOSS

    def init(self):
        return jnp.full((), jnp.inf), jnp.zeros((), jnp.int32)

    def judge(self, memory, seen):
        last, held = memory
        change = jnp.abs(seen.loss - last)
        holds = change <= self.tolerance * jnp.abs(seen.loss)
        held = jnp.where(holds, held + 1, 0)
        relative = change / jnp.maximum(jnp.abs(seen.loss), jnp.finfo(last.dtype).tiny)
        return held >= self.patience, relative, (seen.loss.astype(last.dtype), held)


class Best(NamedTuple):
    """The lowest validation loss, what there was, and how many looks since."""

    loss: Float[Array, ""]
    training: Float[Array, ""]
    params: PyTree
    state: PyTree
    waited: Int[Array, ""]
    count: Int[Array, ""]
    """Of looks so far."""
    looks: Float[Array, " looks"]
    """The loss at each, thinned evenly; NaN after the last."""


class Validation(eqx.Module):
    """Stop when the loss on other rows has stopped falling; keep the best parameters.

    Args:
        data: rows that the fit does not see.
        patience: how many looks in a row may be no better than the best.
        every: epochs between looks (an epoch of a full-batch solver is one step).
    """

    data: Batch
    patience: Whole = whole(10)
    every: int = eqx.field(static=True, default=1)
    reason: ClassVar[int] = VALIDATION

    def init(
        self, training: Float[Array, ""], params: PyTree, state: State, capacity: int
    ) -> Best:
        """Nothing seen yet."""
        worst, none = jnp.full_like(training, jnp.inf), jnp.zeros((), jnp.int32)
        looks = jnp.full(capacity, jnp.nan, training.dtype)
        return Best(worst, training, params, state, none, none, looks)

    def look(self, best: Best, loss: Float[Array, ""], run: Any, stride: Any) -> Best:
        """The best so far, after a look at where a run is; each `stride`-th is kept."""
        better = loss < best.loss

        def chosen(new: Any, old: Any) -> Any:
            return jnp.where(better, new.astype(old.dtype), old)

        slot = jnp.where(best.count % stride == 0, best.count // stride, FOREVER)
        return Best(
            loss=chosen(loss, best.loss),
            training=chosen(run.loss, best.training),
            params=jax.tree.map(chosen, run.params, best.params),
            state=jax.tree.map(chosen, run.state, best.state),
            waited=jnp.where(better, 0, best.waited + 1),
            count=best.count + 1,
            looks=best.looks.at[slot].set(loss.astype(best.looks.dtype), mode="drop"),
        )
