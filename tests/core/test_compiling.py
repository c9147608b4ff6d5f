"""Programs that are compiled quickly are the same programs."""

import jax
import jax.numpy as jnp
import numpy as np

from likely.core import compiling


def total(x, *, twice):
    return {"sum": jnp.tanh(x).sum() * (2 if twice else 1)}


def test_a_program_that_is_compiled_fast_computes_the_same():
    x = jnp.arange(5.0)
    found = compiling.lean_jit(total)(x, twice=True)["sum"]
    assert np.isclose(found, 2 * np.tanh(np.arange(5.0)).sum(), rtol=1e-6)


def test_a_compiler_without_the_option_gets_no_options(monkeypatch):
    monkeypatch.setattr(
        compiling, "FAST_COMPILE_OPTIONS", {"xla_of_another_time": False}
    )
    assert compiling._options.__wrapped__() is None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiling._options.__wrapped__() is None
