"""Links between η and positive parameters: a fixed number, or exp of a column of η.

A dispersion is *fixed* (a number stored in the family), *modelled* (its logarithm is
a column of η) or *shared* (such a column that is the same for every row, which the model
provides: `models.Shared`).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from likely.core.checks import InputError
from likely.core.numerics import bounded, unbounded
from likely.core.precision import number


def fixed(value: float | int | None, name: str) -> np.ndarray | None:
    """A setting that fixes a positive parameter, or None for a column of η."""
    return None if value is None else positive_setting(value, name)


def positive_setting(value: float | int, name: str) -> np.ndarray:
    """A setting that has to be a positive number."""
    if not (np.ndim(value) == 0 and 0 < value < np.inf):
        raise InputError(f"{name} is {value}; give a positive number.")
    return number(value)


def log_positive(
    eta: Float[Array, "*n k"], column: int, setting: Array | np.ndarray | None = None
) -> Float[Array, "*n"]:
    """log θ: ρ(η) of the column, or the logarithm of the fixed number in every row."""
    if setting is None:
        return bounded(eta[..., column])
    return jnp.full_like(eta[..., 0], jnp.log(setting))


def positive(
    eta: Float[Array, "*n k"], column: int, setting: Array | np.ndarray | None = None
) -> Float[Array, "*n"]:
    """The parameter θ: exp ρ(η) of the column, or the fixed number in every row."""
    if setting is None:
        return jnp.exp(bounded(eta[..., column]))
    return jnp.full_like(eta[..., 0], setting)


def scaled(scale: Float[Array, "*n"], z: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The product s z, which is 0 at z = 0 also where the scale is infinite."""
    return jnp.where(z == 0, 0.0, scale * z)


def column(theta: ArrayLike) -> Float[Array, "*n"]:
    """The column of η of a positive parameter: the inverse of `positive`."""
    return unbounded(jnp.log(jnp.asarray(theta, jnp.result_type(float))))


def stack(*columns: ArrayLike | None) -> Float[Array, "*n k"]:
    """η from its columns; the columns of fixed parameters are None."""
    present = [jnp.asarray(c) for c in columns if c is not None]
    return jnp.stack(jnp.broadcast_arrays(*present), axis=-1)
