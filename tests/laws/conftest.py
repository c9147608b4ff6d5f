"""How the laws run: many small programs, each used a few times, so hardly optimised.

They compile in half the time. Programs of the laws and of other tests are kept apart,
since the last bits of what they compute differ. The slow run is as users run it.
"""

from pathlib import Path

import jax
import pytest

HERE = Path(__file__).parent


def optimise(wanted: bool) -> None:
    if jax.config.read("jax_disable_most_optimizations") is wanted:
        jax.clear_caches()
        jax.config.update("jax_disable_most_optimizations", not wanted)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Hardly optimise from the first law to the last of a row of laws."""
    if not item.config.getoption("--slow"):
        optimise(False)
    done = yield
    if nextitem is None or HERE not in nextitem.path.parents:
        optimise(True)
    return done
