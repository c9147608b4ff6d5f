"""Running moments: no cancellation, and parts merge to the whole."""

import jax.numpy as jnp
import numpy as np

from likely.core import float64
from likely.core.moments import Moments, autocorrelation


def test_a_large_mean_costs_no_digits():
    y = 1e8 + np.arange(1001.0)
    with float64():
        found = Moments.of(jnp.asarray(y), jnp.ones(1001))
        np.testing.assert_allclose(found.mean, 1e8 + 500, rtol=1e-15)
        np.testing.assert_allclose(found.variance(1), 1001 * 1002 / 12, rtol=1e-15)
    naive = np.mean(y.astype(np.float32) ** 2) - np.mean(y.astype(np.float32)) ** 2
    assert not np.isclose(naive, 1001 * 1000 / 12, rtol=0.1)


def test_parts_merge_to_the_whole(rng):
    y, w = rng.normal(size=(30, 2)) + 1e3, rng.integers(0, 3, size=30).astype(float)
    with float64():
        whole = Moments.of(jnp.asarray(y), jnp.asarray(w))
        empty = Moments(jnp.zeros(()), jnp.zeros(2), jnp.zeros(2))
        parts = empty
        for i in (0, 10, 20):
            part = Moments.of(jnp.asarray(y[i : i + 10]), jnp.asarray(w[i : i + 10]))
            parts = parts.merge(part)
        rows = np.repeat(y, w.astype(int), axis=0)
        for found in (whole, parts):
            np.testing.assert_allclose(found.mean, rows.mean(0), rtol=1e-14)
            spread = rows.var(0, ddof=1)
            np.testing.assert_allclose(found.variance(1), spread, rtol=1e-10)
        nothing = empty.merge(empty)
        assert nothing.weight == 0
        np.testing.assert_array_equal(nothing.mean, 0.0)


def test_autocorrelation_of_a_pendulum():
    with float64():
        y = jnp.asarray(np.tile([1.0, -1.0], 50))
        np.testing.assert_allclose(autocorrelation(y), -0.99)
        np.testing.assert_allclose(autocorrelation(y, lag=2), 0.98)
