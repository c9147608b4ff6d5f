r"""Dropout: values set to zero at random in training."""

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
    r"""Each value times $M/(1-p)$ with $P(M = 0) = p$, drawn anew in every training step.

    The factor keeps the mean; at inference (`key=None`) values pass unchanged. p is the
    probability to *drop* a value. It is stored as the integer p·2³², so that it is not a
    learned parameter and another p compiles nothing.

    Examples:
        >>> import jax.numpy as jnp
        >>> values, _ = lk.layers.Dropout(0.5)(jnp.ones((2, 4)))  # inference
        >>> values.tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
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
        """The probability p as a number (outside of compiled code)."""
        return np.asarray(np.asarray(self.level) / LEVELS)

    def __call__(
        self,
        X: Float[Array, "*n d"],
        *,
        w=None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "*n d"], State]:
        """Drop values in training; return X unchanged at inference."""
        if key is None:
            return X, state
        wide = jnp.promote_types(X.dtype, jnp.float32)
        level = jnp.asarray(self.level)
        scale = 1 / (1 - level.astype(wide) / LEVELS)
        return jnp.where(
            random_bits(key, X.shape) >= level, X * scale.astype(X.dtype), 0
        ), state


def random_bits(key: Key, shape: tuple[int, ...]) -> UInt32[Array, "..."]:
    """32 random bits for each index: a hash of the index, keyed by the words of the key.

    `jax.random.bits` takes forty times as long on a CPU, more than the whole step of a
    small network. Its generator is cryptographic; a dropout mask only has to look random,
    and JAX already makes the keys of different steps and layers unrelated. Row i gets the
    same bits whatever the number of rows.
    """
    words = jax.random.key_data(key)
    index = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _hash(_hash(index + words[0]) ^ words[1])


def _hash(x: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """A bijective hash of 32 bits: each input bit changes about half of the output bits."""
    x = (x ^ (x >> 16)) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * np.uint32(0x846CA68B)
    return x ^ (x >> 16)
