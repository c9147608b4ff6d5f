r"""Dropout: noise that multiplies."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from likely.core.checks import InputError
from likely.typing import Key, State

LEVELS = 2.0**32


class Dropout(eqx.Module):
    r"""Each value times $M/(1-p)$ with $P(M = 0) = p$, drawn anew at every call.

    So the mean is what it was, and in use (`key=None`) nothing is done at all. p is the
    probability to *drop*, kept as the whole number p·2³², so that it is no parameter and
    another p compiles nothing.
    """

    level: UInt32[Array | np.ndarray, "..."]

    def __init__(self, rate: float = 0.5):
        if not 0 <= rate < 1:
            raise InputError(
                f"the dropout rate is {rate}; it is the probability to drop a value: "
                "give a number from 0 to below 1."
            )
        self.level = np.asarray(min(round(rate * LEVELS), 2**32 - 1), np.uint32)

    @property
    def rate(self) -> np.ndarray:
        """p, outside of compiled code."""
        return np.asarray(np.asarray(self.level) / LEVELS)

    def __call__(
        self,
        X: Float[Array, "*n d"],
        *,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "*n d"], State]:
        """Drop, when training."""
        if key is None:
            return X, state
        wide = jnp.promote_types(X.dtype, jnp.float32)
        level = jnp.asarray(self.level)
        scale = 1 / (1 - level.astype(wide) / LEVELS)
        return jnp.where(
            noise(key, X.shape) >= level, X * scale.astype(X.dtype), 0
        ), state


def noise(key: Key, shape: tuple[int, ...]) -> UInt32[Array, "..."]:
    """32 random bits for each place: a hash of its number, keyed by the key's two words.

    `jax.random.bits` costs forty times as much on a CPU, more than the whole step of a
    small network. It is meant for secrets; a mask only has to look random, and the keys
    of different steps and layers are unrelated since JAX made them. Row i has the same
    bits whatever the number of rows.
    """
    words = jax.random.key_data(key)
    place = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _mixed(_mixed(place + words[0]) ^ words[1])


def _mixed(x: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """A bijection of 32 bits in which each bit of x moves about half of the result's."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
