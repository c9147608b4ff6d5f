"""Settings as arrays, so that a new value compiles nothing."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.precision import number

if TYPE_CHECKING:  # numbers are converted
    Real = Any
    Whole = Any
else:
    Real = Float[Array | np.ndarray, "..."]
    Whole = Int[Array | np.ndarray, "..."]

WEIGHT_NAMES = ("weight", "recurrent")
"""Names of the leaves of a model that are weights, which priors and weight decay apply to."""


def as_real(value) -> Real:
    """A real setting; a traced one (`vmap` over rates) is left as it is."""
    return value if isinstance(value, jax.Array) else number(value)


def as_whole(value) -> Whole:
    """An integer setting, such as a number of steps."""
    return value if isinstance(value, jax.Array) else np.asarray(value, np.int32)


def real(default: float | None = None, **options):
    """A field that holds a real setting."""
    if default is not None:
        options["default"] = default
    return eqx.field(converter=as_real, **options)


def whole(default: int, **options):
    """A field that holds an integer setting."""
    return eqx.field(converter=as_whole, default=default, **options)
