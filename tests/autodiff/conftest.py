"""What the tests of differentiation share."""

import jax
import jaxtyping
import pytest

from likely.core import float64


@pytest.fixture(scope="module")
def in_a_hurry():
    """Double precision; many small programs, so nothing is optimised or checked."""
    jaxtyping.config.update("jaxtyping_disable", True)
    jax.config.update("jax_disable_most_optimizations", True)
    with float64(), jax.debug_key_reuse(False):
        yield
    jax.config.update("jax_disable_most_optimizations", False)
    jaxtyping.config.update("jaxtyping_disable", False)
