"""Calls into NumPyro that cannot live with strict JAX, wrapped in one named context."""

from contextlib import AbstractContextManager

import jax


def lenient() -> AbstractContextManager:
    """Rank promotion allowed: NumPyro's samplers broadcast batch against event axes."""
    return jax.numpy_rank_promotion("allow")
