r"""Batch normalisation with weighted, threaded running statistics."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.typing import Key


class Running(eqx.Module):
    """Running mean and variance of each column."""

    mean: Float[Array, " d"]
    variance: Float[Array, " d"]


class BatchNorm(eqx.Module):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ for each column.

    In training (`key` given) m and s² are the weighted mean and population variance
    of the batch, and the running statistics move towards them by `rate`; an absent
    row moves nothing, a batch of absent rows moves nothing at all. In use
    (`key=None`) m and s² are the running statistics.
    """

    scale: Float[Array, " d"]
    shift: Float[Array, " d"]
    epsilon: float = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(self, size: int, *, epsilon: float = 1e-5, rate: float = 0.1):
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)
        self.epsilon, self.rate = float(epsilon), float(rate)

    def initial_state(self) -> Running:
        """Mean 0, variance 1."""
        return Running(jnp.zeros_like(self.shift), jnp.ones_like(self.scale))

    def __call__(
        self,
        X: Float[Array, "n d"],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: Running,
    ) -> tuple[Float[Array, "n d"], Running]:
        """Normalise, and move the running statistics when training."""
        if key is None:
            return self._normalise(X, state.mean, state.variance), state
        w = jnp.ones(X.shape[0], X.dtype) if w is None else w
        any_row = w.sum() > 0
        w = jnp.where(any_row, w, 1.0)
        mean = weighted_mean(X, w)
        variance = weighted_mean((X - mean[None]) ** 2, w)
        rate = jnp.where(any_row, self.rate, 0.0)
        moved = Running(
            state.mean + rate * (mean - state.mean),
            state.variance + rate * (variance - state.variance),
        )
        return self._normalise(X, mean, variance), moved

    def _normalise(self, X, mean, variance):
        slope = self.scale / jnp.sqrt(variance + self.epsilon)
        return (X - mean[None]) * slope[None] + self.shift[None]
