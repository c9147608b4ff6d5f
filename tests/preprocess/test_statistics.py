"""The pure core: weighted statistics on the host and inside a compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from likely.core import fill_absent, float64
from likely.evaluate import k_fold
from likely.preprocess import statistics
from likely.typing import Batch

LEVELS = np.array([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 3)) * [1, 10, 100] + [0, 5, -50]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@given(st.lists(st.integers(0, 5), min_size=8, max_size=8), st.integers(0, 99))
def test_quantiles_of_whole_weights_are_those_of_repeated_values(w, seed):
    """NumPy's interpolated quantile is the oracle, on the rows written out."""
    if not sum(w):
        w = [1] * 8
    x = np.random.default_rng(seed).normal(size=(8, 1))
    found = statistics.quantiles(x, np.array(w, float), LEVELS)
    expected = np.quantile(np.repeat(x, w, axis=0), LEVELS, axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_quantiles_of_any_weights(rng):
    """Splitting a row in two changes nothing; equal small weights are no weights."""
    x, w = rng.normal(size=(30, 2)), rng.uniform(0, 3, 30)
    split = np.concatenate([x, x]), np.concatenate([w - w / 3, w / 3])
    np.testing.assert_allclose(
        statistics.quantiles(x, w, LEVELS), statistics.quantiles(*split, LEVELS)
    )
    small = statistics.quantiles(x, np.full(30, 1 / 30), LEVELS)
    np.testing.assert_allclose(small, np.quantile(x, LEVELS, axis=0))


def test_quantiles_without_weight_are_zero():
    x = np.full((4, 1), np.nan)
    assert statistics.quantiles(x, np.ones(4), LEVELS).tolist() == [[0.0]] * 6


def test_moments_leave_out_what_is_missing(rows, rng):
    w = rng.integers(1, 4, 40).astype(float)
    found = statistics.column_moments(rows, w)
    for j in range(3):
        here = ~np.isnan(rows[:, j])
        mean = np.average(rows[here, j], weights=w[here])
        var = np.average((rows[here, j] - mean) ** 2, weights=w[here])
        np.testing.assert_allclose(found.mean[j], mean)
        np.testing.assert_allclose(found.std[j] ** 2, var)
        assert found.total[j] == w[here].sum()


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_no_square_overflows(size):
    found = statistics.column_moments(
        np.array([[1.0], [2.0], [6.0]]) * size, np.ones(3)
    )
    np.testing.assert_allclose(found.mean, 3 * size)
    np.testing.assert_allclose(found.std / size, np.std([1, 2, 6]))
    merged = found.merge(found)
    np.testing.assert_allclose(merged.std, found.std)


def test_moments_merge(rows, rng):
    w = rng.uniform(0.5, 2, 40)
    whole = statistics.column_moments(rows, w)
    parts = [
        statistics.column_moments(rows[i : i + 10], w[i : i + 10])
        for i in range(0, 40, 10)
    ]
    merged = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b), merged, whole)


FITS = {
    "standard": statistics.standard,
    "robust": lambda X, w: statistics.robust(X, w, jnp.array([0.25, 0.5, 0.75])),
    "minmax": statistics.minmax,
}


@pytest.mark.parametrize("name", FITS)
def test_folds_are_one_program(name, rows):
    """`vmap` over the weights of folds gives what each fold gives on the host."""
    fit = FITS[name]
    folds = k_fold(40, 4, random_state=0).train
    host = {
        "standard": statistics.standard,
        "robust": lambda X, w: statistics.robust(X, w, np.array([0.25, 0.5, 0.75])),
        "minmax": statistics.minmax,
    }[name]

    def scaled(w):
        batch = fill_absent(Batch(jnp.asarray(rows), jnp.zeros(40), w))
        return fit(batch.x, batch.w).apply(jnp.asarray(rows))

    with float64():
        together = np.asarray(jax.jit(jax.vmap(scaled))(folds))
    for w, found in zip(folds, together, strict=True):
        alone = host(rows[w > 0], w[w > 0]).apply(rows)
        np.testing.assert_allclose(found, alone, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("garbage", [np.nan, 1e300, -np.inf])
def test_garbage_in_a_held_out_row_changes_nothing(name, garbage, rows):
    w = np.ones(40)
    w[7] = 0
    spoiled = rows.copy()
    spoiled[7] = garbage

    def fitted(X):
        with float64():
            batch = fill_absent(Batch(jnp.asarray(X), jnp.zeros(40), jnp.asarray(w)))
            return [np.asarray(part) for part in FITS[name](batch.x, batch.w)]

    for clean, dirty in zip(fitted(rows), fitted(spoiled), strict=True):
        np.testing.assert_array_equal(clean, dirty)


def test_affine_inverts():
    X = np.arange(6.0).reshape(3, 2)
    scaled = statistics.minmax(X, np.ones(3), -1.0, 1.0)
    assert scaled.apply(X).min() == -1
    assert scaled.apply(X).max() == 1
    np.testing.assert_allclose(scaled.invert(scaled.apply(X)), X)


def test_fill_runs_in_a_program():
    X = jnp.array([[1.0, jnp.nan], [jnp.nan, 2.0]])
    filled = jax.jit(statistics.fill)(X, jnp.array([9.0, 8.0]))
    assert filled.tolist() == [[1.0, 8.0], [9.0, 2.0]]
