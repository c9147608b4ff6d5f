r"""Which rows a step learns from: weights of rows as a function of (step, difficulty).

With weights $v_i(t) \ge 0$ beside those of the rows, step t learns from

$$L_t = \frac{\sum_i w_i\,v_i(t)\,l_i}{\sum_i w_i\,v_i(t)}.$$

- *Weighted*: minibatches come in turn, and each row counts $v_i/\bar v$ times, where
  $\bar v = \sum w v/\sum w$.
- *Drawn*: the rows of a minibatch are drawn with $p_i \propto w_i v_i(t)$, one in each of B equal
  parts of the cumulative probability. Both have the gradient of $L_t$ in expectation.
- *Corrected*: drawn so, but each row counts $\bar v/v_i$ times. The expectation is the gradient of
  the plain loss, whatever v > 0 is; only its variance depends on v, and is lowest where $v_i$ is
  proportional to the length of the gradient of row i.

Weights and draws are functions of (seed, step), so that a run goes on to the same bits. Where all
v are 0, they count as 1. Each step computes the weights of all n rows.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from likely.core.checks import InputError
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import Batch, Key

PROBABILITY_UNITS = 2.0**31
"""Whole units into which the probability of all rows is split: sums of them are exact."""


class RowFunction(eqx.Module):
    """A named function of rows, (n,) numbers of a batch."""

    function: Callable = eqx.field(static=True)

    def __call__(self, data: Batch) -> Float[Array, " n"]:
        return self.function(data)


def _as_difficulty(value: Any) -> Any:
    """An array, a module, or a function of rows."""
    if value is None or isinstance(value, eqx.Module | jax.Array):
        return value
    return RowFunction(value) if callable(value) else np.asarray(value)


def _difficulty(**options: Any):
    """A field that holds the difficulty of rows: an array, or a function of a batch."""
    return eqx.field(converter=_as_difficulty, **options)


class AbstractSampling(eqx.Module):
    """Weights of rows, and whether rows are drawn by them.

    `difficulty` is an array with a number for each row of the data, or a function of a `Batch`:
    the only form where rows are rearranged, as estimators do.
    """

    difficulty: eqx.AbstractVar[Any]
    draws: eqx.AbstractVar[bool | None]
    corrected: eqx.AbstractVar[bool]

    @abstractmethod
    def scaled(
        self, d: Float[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        """The difficulty as `weights` takes it, computed once.

        Args:
            d: the difficulty of each row.
            w: the weights of the rows; difficulties of absent rows have no meaning.
        """

    @abstractmethod
    def weights(
        self, step: Int[Array, ""], d: Float[Array, " n"]
    ) -> Float[Array, " n"] | Bool[Array, " n"]:
        """v of each row at this step, from its scaled difficulty."""

    @property
    def by_rows(self) -> bool:
        """Whether the difficulty is a function of the rows, in whatever order they come."""
        return self.difficulty is None or isinstance(self.difficulty, eqx.Module)

    def check(self, batch_size: int | None) -> None:
        """Refuse draws where each step uses all the rows."""
        if batch_size is None and (self.draws or self.corrected):
            raise InputError(
                "rows are drawn into minibatches; give the solver a batch_size, or "
                "draws=False to weight all the rows of each step."
            )


class Curriculum(AbstractSampling):
    r"""Easy rows first: at step t the share $s = a + (1 - a)\min(1, t/T)^p$ that is easiest.

    Rows of the same difficulty come in together; from step T on all rows count as they do
    without a curriculum.

    Args:
        difficulty: (n,) a number for each row, or a function of a `Batch`.
        steps: T.
        start: the share a of the rows at the first step.
        power: p; below 1 hard rows come in sooner, above 1 later.
        reverse: whether the hardest rows come first.
        draws: whether minibatches are drawn from the rows that are in, or come in turn, rows
            that are not yet in with weight 0. None draws where there are minibatches.
    """

    difficulty: Any = _difficulty()
    steps: Whole = whole(1000)
    start: Real = real(0.2)
    power: Real = real(1.0)
    reverse: bool = eqx.field(static=True, default=False)
    draws: bool | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        numbers = {"start": self.start, "steps": self.steps, "power": self.power}
        for name, value in numbers.items():
            if not isinstance(value, jax.Array) and not np.all(np.asarray(value) > 0):
                raise InputError(f"{name} is {value}; give a number above 0.")
        if self.difficulty is None:
            raise InputError(
                "difficulty is None; give a number for each row, or a function of a batch."
            )

    @property
    def corrected(self) -> bool:
        """Rows that are not in yet cannot be corrected for."""
        return False

    def share(self, step: Any) -> Float[Array, ""]:
        """The share of the rows that is in at a step."""
        passed = jnp.minimum(jnp.asarray(step) / self.steps, 1.0)
        return self.start + (1 - self.start) * passed**self.power

    def scaled(self, d, w):
        """The share of the weight of all rows that is easier."""
        d = jnp.where(jnp.isnan(d), jnp.inf, d)
        d = -d if self.reverse else d
        order = jnp.argsort(d)
        before = jnp.concatenate([jnp.zeros(1, w.dtype), jnp.cumsum(w[order])])
        return before[jnp.searchsorted(d[order], d)] / before[-1]

    def weights(self, step, d):
        return d < self.share(step)


class RowWeights(AbstractSampling):
    """Weights of rows by any function of (step, difficulty).

    Args:
        function: a named function of the step and the (n,) difficulties, to (n,) weights of at
            least 0.
        difficulty: (n,) a number for each row, or a function of a `Batch`; None is 1 for all.
        draws: whether rows are drawn by these weights, or only weighted. None draws where there
            are minibatches.
        corrected: whether drawn rows count so that the plain loss is learned from: weights then
            only decide how often a row is looked at.
    """

    function: Callable = eqx.field(static=True)
    difficulty: Any = _difficulty(default=None)
    draws: bool | None = eqx.field(static=True, default=None)
    corrected: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.corrected and self.draws is False:
            raise InputError(
                "corrected=True is for rows that are drawn; weights that are corrected for are "
                "none. Give draws=True."
            )

    def scaled(self, d, w):
        return jnp.where(w > 0, d, d[jnp.argmax(w > 0)])

    def weights(self, step, d):
        return self.function(step, d)


class RowSampler(eqx.Module):
    """The sampling of known rows."""

    sampling: AbstractSampling
    d: Float[Array, " n"]
    w: Float[Array, " n"]
    draws: bool = eqx.field(static=True)

    @classmethod
    def of(
        cls, sampling: AbstractSampling, data: Batch, *, full: bool, padded: bool
    ) -> "RowSampler":
        """The sampling of these rows, absent ones made harmless.

        Args:
            sampling: the settings.
            data: all the rows.
            full: whether each step uses all of them.
            padded: whether absent rows may have been appended.
        """
        n, given = len(data.w), sampling.difficulty
        w = jnp.asarray(data.w)
        if given is None:
            given = jnp.ones(n, w.dtype)
        elif sampling.by_rows:
            given = given(data)
        shape = np.shape(given)
        if padded and len(shape) == 1 and shape[0] < n:
            given = jnp.concatenate([jnp.asarray(given), jnp.zeros(n - shape[0])])
        elif shape != (n,):
            raise InputError(
                f"difficulty has shape {shape} and there are {n} rows; give one number for "
                "each, or a function of a batch, which follows the rows wherever they are."
            )
        d = sampling.scaled(jnp.asarray(given, w.dtype), w)
        draws = sampling.corrected or (
            not full if sampling.draws is None else sampling.draws
        )
        return cls(sampling, d, w, draws)

    def relative(self, step: Int[Array, ""]) -> Float[Array, " n"]:
        """v divided by its mean over the weights of the rows."""
        v = jnp.asarray(self.sampling.weights(step, self.d), self.w.dtype)
        v = jnp.where(self.w > 0, jnp.broadcast_to(v, self.w.shape), 0.0)
        mean = (self.w * v).sum() / self.w.sum()
        return jnp.where(mean > 0, v / jnp.where(mean > 0, mean, 1.0), 1.0)

    def draw(
        self, key: Key, step: Int[Array, ""], size: int
    ) -> tuple[Int[Array, " r"], Float[Array, " r"]]:
        """The rows of a minibatch, and how often each counts relative to the mean weight."""
        v = self.relative(step)
        p = self.w * v / self.w.sum()
        units = jnp.floor(p * PROBABILITY_UNITS).astype(jnp.uint32)
        ends = jnp.cumsum(units, dtype=jnp.uint32)
        part = jnp.maximum(ends[-1] // jnp.uint32(size), 1)
        inside = jax.random.randint(key, (size,), 0, part, jnp.uint32)
        places = jnp.arange(size, dtype=jnp.uint32) * part + inside
        rows = jnp.searchsorted(ends, places, side="right")
        if not self.sampling.corrected:
            return rows, jnp.ones(size, self.w.dtype)
        return rows, 1 / jnp.take(v, rows, mode="clip")
