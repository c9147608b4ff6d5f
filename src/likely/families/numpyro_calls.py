"""A context for calls into NumPyro that do not work with strict rank promotion."""

from contextlib import AbstractContextManager

import jax


def lenient() -> AbstractContextManager:
    """Allow rank promotion: NumPyro's samplers broadcast batch against event axes."""
    return jax.numpy_rank_promotion("allow")
