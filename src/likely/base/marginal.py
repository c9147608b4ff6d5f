"""The maximum-likelihood parameters of a family without inputs."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad
from likely.families import AbstractFamily
from likely.typing import Batch


def fit_marginal(family: AbstractFamily, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(k,) η of largest likelihood for weighted observations."""
    family.check(y, w)
    with float64():
        return np.asarray(_maximum(family, pad(Batch(None, y, w))))


@lean_jit
def _maximum(family: AbstractFamily, batch: Batch) -> Array:
    return family.marginal(jnp.asarray(batch.y), jnp.asarray(batch.w))
