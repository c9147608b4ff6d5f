r"""Dropout: noise that multiplies (J5)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt16

from likely.core.checks import InputError
from likely.typing import Key, State

LEVELS = 2**16


class Dropout(eqx.Module):
    r"""Each value times $M/(1-p)$ with $P(M = 0) = p$, drawn anew at every call.

    So the mean is what it was, and in use (`key=None`) nothing is done at all. p is the
    probability to *drop*, a multiple of 1/65536; it is stored as that whole number, so
    that it is no parameter and another p compiles nothing.
    """

    level: UInt16[Array | np.ndarray, "..."]

    def __init__(self, rate: float = 0.5):
        if not 0 <= rate < 1:
            raise InputError(
                f"the dropout rate is {rate}; it is the probability to drop a value: "
                "give a number from 0 to below 1."
            )
        self.level = np.asarray(min(round(rate * LEVELS), LEVELS - 1), np.uint16)

    @property
    def rate(self) -> Float[Array, "..."]:
        """p."""
        return self.level / LEVELS

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
        level = jnp.asarray(self.level)
        scale = LEVELS / (LEVELS - level.astype(jnp.float32))
        return jnp.where(keep(key, X.shape, level), X * scale.astype(X.dtype), 0), state


def keep(key: Key, shape: tuple[int, ...], level: UInt16[Array, ""]) -> Array:
    """Which values stay: each with probability 1 − level/65536.

    One draw of 32 bits serves two values.
    """
    *rows, d = shape
    bits = jax.random.bits(key, (*rows, -(-d // 2)), jnp.uint32)
    halves = jax.lax.bitcast_convert_type(bits, jnp.uint16)
    return halves.reshape(*rows, -1)[..., :d] >= level
