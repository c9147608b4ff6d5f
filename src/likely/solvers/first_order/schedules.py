r"""Learning-rate schedules: η as a function of the step t.

A schedule is a value, given to a solver in place of a number:
`Adam(rate=WarmUp(100, Cosine(1e-3, 2000)))`. Steps count updates; with b batches an
epoch, "halve every ten epochs" is `StepDecay(rate, every=10 * b, factor=0.5)`.
"""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from likely.solvers.settings import Real, Whole, as_real, real, whole


class AbstractSchedule(eqx.Module):
    """The learning rate of each step; `memory` is the state of an adaptive schedule."""

    @abstractmethod
    def init(self) -> PyTree:
        """The memory before the first step."""

    @abstractmethod
    def rate(self, step: Int[Array, ""], memory: PyTree) -> Float[Array, ""]:
        """η at this step."""

    @abstractmethod
    def observe(self, memory: PyTree, loss: Float[Array, ""]) -> PyTree:
        """The memory after a step with this loss."""


class AbstractFormula(AbstractSchedule):
    """A schedule that is a formula of the step alone."""

    @abstractmethod
    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """η at this step."""

    def init(self) -> None:
        return None

    def rate(self, step: Int[Array, ""], memory: None) -> Float[Array, ""]:
        return self(step)

    def observe(self, memory: None, loss: Float[Array, ""]) -> None:
        return None


def as_schedule(rate) -> AbstractSchedule:
    """A schedule unchanged, a number as a constant schedule."""
    return rate if isinstance(rate, AbstractSchedule) else Constant(rate)


class Constant(AbstractFormula):
    r"""$η_t = η$."""

    value: Real = real()

    def __call__(self, step):
        return jnp.asarray(self.value)


class StepDecay(AbstractFormula):
    r"""$η_t = η\,γ^{\lfloor t / \text{every}\rfloor}$."""

    start: Real = real()
    every: Real = real()
    factor: Real = real(0.1)

    def __call__(self, step):
        return self.start * self.factor ** jnp.floor(step / self.every)


class ExponentialDecay(AbstractFormula):
    r"""$η_t = η\,γ^{t / \text{every}}$."""

    start: Real = real()
    factor: Real = real()
    every: Real = real(1.0)

    def __call__(self, step):
        return self.start * self.factor ** (step / self.every)


class InverseTime(AbstractFormula):
    r"""$η_t = η / (1 + t/\text{every})^{p}$: 1/t with p = 1, for subgradients p = ½.

    The sum of the rates is infinite and, for p > ½, the sum of their squares is not:
    stochastic gradient descent then converges (Robbins and Monro).
    """

    start: Real = real()
    every: Real = real(1.0)
    power: Real = real(1.0)

    def __call__(self, step):
        return self.start / (1 + step / self.every) ** self.power


class Cosine(AbstractFormula):
    r"""$η_t = η_T + (η - η_T)\,\frac12(1 + \cos(π t/T))$, and $η_T$ after T steps."""

    start: Real = real()
    steps: Real = real()
    end: Real = real(0.0)

    def __call__(self, step):
        turn = jnp.cos(jnp.pi * jnp.minimum(step / self.steps, 1.0))
        return self.end + (self.start - self.end) * 0.5 * (1 + turn)


class WarmUp(AbstractSchedule):
    r"""$η_t\,\min(1, (t+1)/\text{steps})$: a linear rise to another schedule or number."""

    steps: Real = eqx.field(converter=as_real)
    then: AbstractSchedule = eqx.field(converter=as_schedule)

    def init(self):
        return self.then.init()

    def rate(self, step, memory):
        rise = jnp.minimum(1.0, (step + 1) / self.steps)
        return rise * self.then.rate(step, memory)

    def observe(self, memory, loss):
        return self.then.observe(memory, loss)


class PlateauMemory(NamedTuple):
    """The lowest mean loss, windows since then, the factor, and the current window."""

    lowest: Float[Array, ""]
    waited: Int[Array, ""]
    factor: Float[Array, ""]
    total: Float[Array, ""]
    count: Int[Array, ""]
    inner: PyTree


class ReduceOnPlateau(AbstractSchedule):
    """Multiply the rate by `factor` when the loss has stopped falling.

    The loss is averaged over windows of `every` steps (an epoch, say). When `patience`
    windows in a row are not below (1 − threshold) of the lowest, the rate is reduced.
    """

    start: AbstractSchedule = eqx.field(converter=as_schedule)
    factor: Real = real(0.1)
    patience: Whole = whole(10)
    threshold: Real = real(1e-4)
    every: Whole = whole(1)

    def init(self) -> PlateauMemory:
        infinity, none = jnp.full((), jnp.inf), jnp.zeros((), jnp.int32)
        one, zero = jnp.ones(()), jnp.zeros(())
        return PlateauMemory(infinity, none, one, zero, none, self.start.init())

    def rate(self, step, memory: PlateauMemory):
        return memory.factor * self.start.rate(step, memory.inner)

    def observe(self, memory: PlateauMemory, loss) -> PlateauMemory:
        total, count = memory.total + loss, memory.count + 1
        full = count >= self.every
        mean = total / count
        known = jnp.isfinite(memory.lowest)
        margin = self.threshold * jnp.where(known, jnp.abs(memory.lowest), 0.0)
        better = full & (mean < memory.lowest - margin)
        waited = jnp.where(better, 0, memory.waited + full)
        reduce = waited >= self.patience
        new = PlateauMemory(
            jnp.where(better, mean, memory.lowest),
            jnp.where(reduce, 0, waited),
            jnp.where(reduce, memory.factor * self.factor, memory.factor),
            jnp.where(full, 0.0, total),
            jnp.where(full, 0, count),
            self.start.observe(memory.inner, loss),
        )
        return jax.tree.map(lambda a, old: a.astype(old.dtype), new, memory)


def rate_height(rate: AbstractSchedule) -> Any:
    """The number of a schedule that is its learning rate."""
    if isinstance(rate, Constant):
        return rate.value
    if isinstance(rate, Cosine):
        return rate.start
    if isinstance(rate, ReduceOnPlateau):
        return rate_height(rate.start)
    raise TypeError(f"{type(rate).__name__} has no single rate")
