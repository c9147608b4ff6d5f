"""Distributions that flows map to: independent standard normal or Student t numbers."""

import math
from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from likely.typing import Key

FIRST_DF, MIN_DF = 20.0, 2.1
"""Degrees of freedom at first, and the fewest: the variance stays finite."""


class AbstractBase(eqx.Module):
    """A distribution of rows of d independent numbers."""

    @abstractmethod
    def log_prob(self, Z: Float[Array, "n d"]) -> Float[Array, " n"]:
        """log p(z) of each row."""

    @abstractmethod
    def sample(self, key: Key, n: int, d: int) -> Float[Array, "n d"]:
        """N independent rows."""


class StandardNormal(AbstractBase):
    r"""$z_j \sim N(0, 1)$."""

    def log_prob(self, Z):
        return -0.5 * (Z**2).sum(1) - 0.5 * Z.shape[1] * math.log(2 * math.pi)

    def sample(self, key, n, d):
        return jax.random.normal(key, (n, d))


class StandardStudent(AbstractBase):
    r"""$z_j \sim t_{ν_j}$ with degrees of freedom $ν_j > 2.1$ that are learned.

    For data with heavier tails than a normal distribution: a flow maps tails almost
    linearly, so that its base decides how heavy they are.
    """

    raw: Float[Array, " d"]
    """log (ν − 2.1)."""

    @classmethod
    def of(cls, d: int) -> "StandardStudent":
        """The distribution that training begins with."""
        return cls(jnp.full(d, math.log(FIRST_DF - MIN_DF)))

    @property
    def df(self) -> Float[Array, " d"]:
        """ν."""
        return MIN_DF + jnp.exp(self.raw)

    def log_prob(self, Z):
        v = self.df
        constant = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * jnp.log(math.pi * v)
        each = -0.5 * (v + 1)[None] * jnp.log1p(Z**2 / v[None])
        return each.sum(1) + constant.sum()

    def sample(self, key, n, d):
        return jax.random.t(key, self.df[None], (n, d))
