"""Bins of inputs, and fixed-point numbers."""

import numpy as np
import pytest

from likely.models.trees import Bins
from likely.models.trees.bins import cut_points
from likely.models.trees.fixed_point import fixed_products, fixed_weights


def bins_of(X, w=None, categorical=()):
    mask = np.isin(np.arange(X.shape[1]), categorical)
    return Bins.of(X, np.ones(len(X)) if w is None else w, mask)


def test_few_values_have_a_bin_each_with_cuts_half_way():
    np.testing.assert_array_equal(
        cut_points(np.array([3.0, 1.0, np.nan, 1.0, 7.0]), None, False), [2.0, 5.0]
    )


def test_many_values_have_bins_of_equal_weight(rng):
    x = rng.normal(size=20_000)
    cuts = cut_points(x, None, False)
    counts = np.bincount(np.searchsorted(cuts, x))
    assert len(cuts) == 254
    assert counts.min() > 70
    assert counts.max() < 90


def test_a_heavy_value_does_not_take_the_bins_of_others(rng):
    x = np.r_[np.zeros(9_000), rng.normal(size=1_000)]
    assert len(cut_points(x, None, False)) > 200


@pytest.mark.parametrize("n", [300, 2_000])
def test_weights_are_repetitions_and_absent_rows_do_not_exist(n, rng):
    X = rng.normal(size=(n, 2)).round(2)
    w = rng.integers(0, 4, n).astype(float)
    repeated = bins_of(np.repeat(X, w.astype(int), axis=0))
    garbage = np.where(w[:, None] == 0, 1e300, X)
    for rows in (X, garbage):
        np.testing.assert_array_equal(bins_of(rows, w).cuts, repeated.cuts)


def test_codes_are_ranks_among_the_cuts(rng):
    X = rng.normal(size=(1_000, 5))
    X[::7, 1], X[0, 2], X[1, 2] = np.nan, np.inf, -np.inf
    X[:, 4] = rng.integers(0, 9, 1_000) * 1.5
    bins = bins_of(X, categorical=[4])
    codes = bins.encode(X)
    flat = codes.transpose(1, 0, 2).reshape(1_000, -1)[:, :5]
    for j in range(4):
        expected = 1 + np.searchsorted(bins.of_feature(j), X[:, j])
        np.testing.assert_array_equal(
            flat[:, j], np.where(np.isnan(X[:, j]), 0, expected)
        )
    np.testing.assert_array_equal(flat[:, 4], 1 + X[:, 4] / 1.5)
    assert bins.encode(np.full((1, 5), 0.3))[1, 0, 0] == 0  # an unknown category


def test_rare_categories_count_as_missing(rng):
    x = np.r_[np.arange(300.0), np.arange(200.0)]
    kept = cut_points(x, None, True)
    assert len(kept) == 255
    assert set(range(200)) <= set(kept)


def test_fixed_point_is_finer_than_rounding(rng):
    v, w = rng.normal(size=500), rng.random(500)
    whole, unit = fixed_weights(w)
    products, own = fixed_products(v, whole, unit)
    assert abs(products.sum() * own - v @ (whole * unit)) < 1e-15 * np.abs(v).sum()
    assert abs(whole.sum() * unit - w.sum()) < 1e-9
    counts = rng.integers(0, 5, 500)
    once, own = fixed_products(v, np.ones(500, int), 1.0, 5)
    products, same = fixed_products(v, counts, 1.0, 500 * 5 / counts.sum())
    assert own == same
    np.testing.assert_array_equal(products, once * counts)
