r"""Huber's density as a NumPyro distribution.

$$Z = \sqrt{2π}\,\bigl(2Φ(δ) - 1\bigr) + \tfrac{2}{δ} e^{-δ^2/2},$$

the mass of the normal centre and of two exponential tails.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array
from numpyro.distributions import Distribution, constraints

from likely.families.links import scaled

ROOT_2PI = 2.5066282746310002


def huber_loss(e: Array, delta: Array) -> Array:
    """Huber's loss: e²/2 for |e| ≤ δ, δ|e| − δ²/2 beyond."""
    inner = jnp.clip(e, -delta, delta)
    return inner * e - 0.5 * inner**2


def tail(delta: Array) -> Array:
    """The mass of one tail before normalisation, e^(−δ²/2) / δ."""
    return jnp.exp(-0.5 * delta**2) / delta


def normaliser(delta: Array) -> Array:
    """The integral Z of e^−h."""
    return ROOT_2PI * (1 - 2 * ndtr(-delta)) + 2 * tail(delta)


class HuberDistribution(Distribution):
    """The density p(y) = exp(−h((y − loc)/scale)) / (scale · Z)."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "delta": constraints.positive,
    }
    _support = constraints.real

    def __init__(self, loc, scale, delta, *, validate_args=None):
        self.loc, self.scale, self.delta = jnp.broadcast_arrays(loc, scale, delta)
        super().__init__(jnp.shape(self.loc), validate_args=validate_args)

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """log p = −log scale − log Z − h(e)."""
        e = (value - self.loc) / self.scale
        mass = self.scale * normaliser(self.delta)
        return -jnp.log(mass) - huber_loss(e, self.delta)

    def cdf(self, value: Any) -> Array:
        """P(Y ≤ value): exponential tails, a normal centre."""
        e = (value - self.loc) / self.scale
        depth = -jnp.abs(e)  # both sides from below, so that small tails stay small
        beyond = jnp.minimum(depth + self.delta, 0.0)
        outer = tail(self.delta) * jnp.exp(self.delta * beyond)
        inner = ROOT_2PI * (ndtr(jnp.maximum(depth, -self.delta)) - ndtr(-self.delta))
        lower = (outer + inner) / normaliser(self.delta)
        return jnp.where(e > 0, 1 - lower, lower)

    def icdf(self, q: Any) -> Array:
        """The inverse of `cdf`."""
        mass = jnp.minimum(q, 1 - q) * normaliser(self.delta)
        outer = jnp.log(mass / tail(self.delta)) / self.delta - self.delta
        rest = jnp.maximum(mass - tail(self.delta), 0.0) / ROOT_2PI
        inner = ndtri(jnp.minimum(rest + ndtr(-self.delta), 0.5))
        depth = jnp.where(mass < tail(self.delta), outer, inner)
        depth = jnp.where(q == 0.5, 0.0, depth)
        return self.loc + scaled(self.scale, jnp.where(q > 0.5, -depth, depth))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws: the quantiles of uniform numbers."""
        shape = sample_shape + self.batch_shape
        q = jax.random.uniform(key, shape, self.loc.dtype)
        shape = (1,) * len(sample_shape) + self.batch_shape
        rows = jax.tree.map(
            lambda a: a.reshape(shape), (self.loc, self.scale, self.delta)
        )
        return HuberDistribution(*rows).icdf(q)

    @property
    def mean(self) -> Array:
        """The mean, which is loc."""
        return self.loc

    @property
    def variance(self) -> Array:
        """The variance scale² E[e²]."""
        delta = self.delta
        beyond = 4 * (1 + 1 / delta**2) * tail(delta)
        inner = ROOT_2PI * (1 - 2 * ndtr(-delta))
        return self.scale**2 * (inner + beyond) / normaliser(delta)
