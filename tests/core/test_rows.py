import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

from likely.core import fill_absent, pad, pad_rows, size_class, weighted_mean
from likely.typing import Batch


@given(st.integers(1, 10**7))
def test_size_class_is_a_bound_that_wastes_little(n):
    size = size_class(n)
    assert size >= n
    assert size == size_class(size)
    if n > 65_536:
        assert size <= 1.125 * n
    elif n > 1024:
        assert size <= 1.25 * n
    else:
        assert size <= max(16, 2 * n)


def test_sizes_are_few():
    assert len({size_class(n) for n in range(1, 100_000)}) < 40


def test_pad_appends_absent_copies_of_a_present_row():
    X = np.array([[np.nan, 1.0], [2.0, 3.0], [4.0, 5.0]])
    batch = pad(Batch(X, np.array([9.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])))
    assert len(batch.w) == 16
    assert batch.w.sum() == 3
    np.testing.assert_array_equal(batch.x[3:], np.repeat(X[1:2], 13, axis=0))
    np.testing.assert_array_equal(batch.y[3:], np.ones(13))


def test_pad_refuses_to_cut():
    with pytest.raises(ValueError, match="at least 20"):
        pad(Batch(np.ones((20, 1)), np.ones(20), np.ones(20)), 16)


def test_pad_rows_keeps_the_rows():
    X = np.arange(34.0).reshape(17, 2)
    np.testing.assert_array_equal(pad_rows(X)[:17], X)
    assert pad_rows(X).shape == (32, 2)


def test_fill_absent_removes_garbage_and_nothing_else():
    X = np.array([[np.nan, np.inf], [2.0, 3.0], [4.0, 5.0]])
    batch = Batch(jax.numpy.asarray(X), jax.numpy.ones(3), jax.numpy.array([0, 1.0, 2]))
    filled = fill_absent(batch)
    np.testing.assert_array_equal(filled.x, [[2, 3], [2, 3], [4, 5]])
    np.testing.assert_array_equal(filled.w, batch.w)


def test_weighted_mean_counts_rows_by_weight():
    values = jax.numpy.array([[1.0, 2.0], [4.0, 8.0]])
    mean = weighted_mean(values, jax.numpy.array([3.0, 1.0]))
    np.testing.assert_allclose(mean, [7 / 4, 14 / 4])
