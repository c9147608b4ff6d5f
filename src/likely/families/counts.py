r"""Helpers of the families of counts: settings, frequencies, the test, divergences.

Log-probabilities of large counts are differences of numbers that are much larger. They are
written here as divergences x log(x/m) − x + m of a count from its mean, which are small where
the two are close, and the remainder of Stirling's formula (Loader 2000).
"""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logit
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.numerics import HALF_LOG_2PI, deviance, stirling


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


def factorial_remainder(y: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The remainder log y! − (y log y − y), about ½ log 2πy; 0 at y = 0."""
    positive = jnp.where(y > 0, y, 1.0)
    remainder = HALF_LOG_2PI + 0.5 * jnp.log(positive) + stirling(positive)
    return jnp.where(y > 0, remainder, 0.0)


def count_term(
    y: Float[Array, "*n"],
    mean: Float[Array, "*n"],
    gap: Float[Array, "*n"],
    log_mean: Float[Array, "*n"],
) -> Float[Array, "*n"]:
    """The share of one count in a log-probability: y log mean − mean − log y!.

    Args:
        y: the count.
        mean: its mean.
        gap: y − mean, as accurately as it is known.
        log_mean: the logarithm of the mean, which may be finite where the mean is 0.
    """
    log_ratio = jnp.log(jnp.where(y > 0, y, 1.0)) - log_mean
    return -deviance(y, mean, gap, log_ratio) - factorial_remainder(y)
