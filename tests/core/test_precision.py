import threading

import jax
import jax.numpy as jnp
import numpy as np

from likely.core import float64, number, precision_of, to_numpy


def test_scope_is_double_inside_and_nowhere_else():
    seen = []
    with float64():
        thread = threading.Thread(target=lambda: seen.append(jnp.ones(1).dtype))
        thread.start()
        thread.join()
        assert jnp.ones(1).dtype == jnp.float64
    assert seen == [jnp.float32]
    assert jnp.ones(1).dtype == jnp.float32


def test_numpy_leaves_keep_their_digits_outside_the_scope():
    with float64():
        leaf = to_numpy({"a": jnp.asarray(1 / 3)})["a"]
    assert leaf.dtype == np.float64
    assert float(leaf) == 1 / 3


def test_precision_of_follows_the_leaves():
    with precision_of({"a": np.ones(2)}):
        assert jnp.ones(1).dtype == jnp.float64
    with precision_of({"a": np.ones(2, np.float32)}):
        assert jnp.ones(1).dtype == jnp.float32


def test_a_number_is_traced_not_baked_in():
    traces = []

    @jax.jit
    def f(x):
        traces.append(1)
        return 2 * x

    for value in (1.0, 2.0, 3.0):
        f(number(value))
    assert len(traces) == 1
