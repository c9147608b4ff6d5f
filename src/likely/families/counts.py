"""Helpers of the families of counts: settings, frequencies, the test for counts."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logit
from jaxtyping import Array, Float

from likely.core.checks import InputError


def count_of(value: int, name: str) -> int:
    """A setting that is a whole number of at least 1."""
    if not (np.ndim(value) == 0 and value >= 1 and value == np.floor(value)):
        raise InputError(f"{name} is {value}; give a whole number of at least 1.")
    return int(value)


def frequency_logit(
    frequency: Float[Array, ""], trials: Float[Array, ""]
) -> Float[Array, ""]:
    """The log-odds of a frequency; half a trial away from it where it is 0 or 1."""
    half = 0.5 / (trials + 1)
    inside = jnp.where(frequency >= 1, 1 - half, frequency)
    return logit(jnp.where(frequency <= 0, half, inside))


def not_whole(y: np.ndarray) -> np.ndarray:
    """Whether each y is negative, fractional, infinite or NaN."""
    return ~((y >= 0) & (y == np.floor(y)) & np.isfinite(y))
