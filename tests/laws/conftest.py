"""How the laws run: many small programs, each used a few times."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def _hardly_optimised(request):
    """Programs that compile in half the time; the slow run is as users run it."""
    if request.config.getoption("--slow"):
        yield
        return
    jax.clear_caches()
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
    jax.clear_caches()  # other modules get programs of their own
