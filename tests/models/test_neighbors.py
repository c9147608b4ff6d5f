"""Nearest rows against all distances, by every way they are found."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from likely.core.checks import InputError
from likely.models.neighbors import (
    exact,
    neighbors,
    neighbors_among,
    neighbors_and_index,
    recall,
)


def truth(X, k, metric="euclidean"):
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


HARD = {
    "normal": rows(300, 12),
    "far from zero": rows(300, 12) + 1e6,
    "two far clusters": rows(300, 12) + 1e5 * (np.arange(300) % 2)[:, None],
    "duplicates": np.repeat(rows(10, 12), 30, axis=0),
    "constant columns": np.c_[rows(300, 4), np.ones((300, 8))],
    "whole numbers": np.round(rows(300, 12)),
    "huge": 1e200 * rows(300, 12),
}


@pytest.mark.parametrize("way", ["scan", "products"])
@pytest.mark.parametrize("name", HARD)
def test_exact_neighbors_are_the_nearest(name, way, monkeypatch):
    if way == "products":
        monkeypatch.setattr(exact, "MAX_SCANNED", 0)
    X = HARD[name]
    with np.errstate(over="ignore", invalid="ignore"):
        D, found = neighbors(X, 7)
    size = np.abs(X).max()
    if name == "huge":  # squares overflow: equal rows for everyone, but no row itself
        assert D.shape == (300, 7)
        return
    np.testing.assert_allclose(D, truth(X, 7), rtol=1e-9, atol=1e-9 * size)
    assert (found != np.arange(300)[:, None]).all()
    pairs = np.linalg.norm(X[found] - X[:, None], axis=2)
    np.testing.assert_allclose(pairs, D, rtol=1e-9, atol=1e-9 * size)
    assert all(len(set(row)) == 7 for row in found.tolist())


def test_a_tree_finds_the_same(monkeypatch):
    X = np.round(rows(400, 3), 1)  # ties and duplicates
    expected, _ = neighbors(X, 6)
    monkeypatch.setattr(exact, "MAX_SCANNED", 0)
    D, found = neighbors(X, 6)
    np.testing.assert_allclose(D, expected, atol=1e-12)
    assert (found != np.arange(400)[:, None]).all()


def test_ties_go_in_the_order_of_rows():
    _, found = neighbors(np.zeros((5, 2)), 3)
    np.testing.assert_array_equal(found[0], [1, 2, 3])
    np.testing.assert_array_equal(found[4], [0, 1, 2])


def test_cosine_distances():
    X = rows(200, 5)
    D, _ = neighbors(X * np.linspace(0.1, 9, 200)[:, None], 4, metric="cosine")
    np.testing.assert_allclose(D, truth(X, 4, "cosine"), atol=1e-12)
    with pytest.raises(InputError, match="row 3 is zero and has no direction"):
        neighbors(np.where(np.arange(9)[:, None] == 3, 0.0, X[:9]), 2, metric="cosine")


def test_approximate_neighbors_are_mostly_the_nearest_at_any_number_of_threads():
    X = rows(3000, 30) @ np.diag(0.8 ** np.arange(30))
    expected, nearest = neighbors(X, 10)
    one = neighbors(X, 10, method="approximate", n_jobs=1)
    two = neighbors(X, 10, method="approximate", n_jobs=2)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert recall(one[1], nearest) > 0.97
    assert (np.diff(one[0], axis=1) >= 0).all()
    assert (one[0] >= expected - 1e-12).all()


def test_new_rows_are_looked_up_by_an_index():
    X, Q = rows(2000, 20), rows(200, 20, seed=1)
    *_, index = neighbors_and_index(X, 15, method="approximate")
    D, found = neighbors_among(X, Q, 8, index=index)
    exactly, nearest = neighbors_among(X, Q, 8)
    assert recall(found, nearest) > 0.95
    np.testing.assert_allclose(exactly, np.sort(cdist(Q, X), 1)[:, :8], rtol=1e-9)
    again = neighbors_among(X, Q, 8, index=index, n_jobs=1)
    np.testing.assert_array_equal(again[1], found)


def test_copies_do_not_stop_the_descent():
    X = np.repeat(rows(4, 9), 100, axis=0)
    D, found = neighbors(X, 12, method="approximate")
    assert (D == 0).mean() > 0.99
    assert (found != np.arange(400)[:, None]).all()


def test_more_neighbors_than_rows_are_refused():
    with pytest.raises(InputError, match="5 neighbours .* other 4 rows"):
        neighbors(rows(5, 2), 5)


def test_recall_counts_what_was_found():
    assert recall(np.array([[0, 1], [2, 3]]), np.array([[1, 4], [3, 2]])) == 0.75
