"""Numbers about maps against scikit-learn and by counting."""

import numpy as np
import pytest
from sklearn.manifold import trustworthiness as sklearns

from likely import evaluate
from likely.core.checks import InputError


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    return X, X[:, :2] + 0.3 * rng.normal(size=(150, 2))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_trustworthiness_is_scikit_learns(pair, k):
    X, Y = pair
    assert evaluate.trustworthiness(X, Y, k) == pytest.approx(
        sklearns(X, Y, n_neighbors=k), abs=1e-12
    )
    assert evaluate.continuity(X, Y, k) == evaluate.trustworthiness(Y, X, k)


def test_a_map_that_keeps_everything_is_perfect(pair):
    X, _ = pair
    assert evaluate.trustworthiness(X, 3 * X + 1) == 1
    assert evaluate.continuity(X, -X) == 1
    assert evaluate.connectedness(X, X, 4) == 1


def test_a_fold_loses_trust_and_a_cut_loses_continuity():
    t = np.linspace(0, 1, 200)[:, None]
    folded, cut = np.abs(t - 0.5), np.where(t < 0.5, t, t + 10)
    assert evaluate.trustworthiness(t, folded) < 0.9 < evaluate.continuity(t, folded)
    ring = np.c_[np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)][:-1]
    opened = t[:-1]
    assert evaluate.continuity(ring, opened) < evaluate.trustworthiness(ring, opened)
    assert evaluate.connectedness(t, cut, 4) == 0.5


def test_neighborhood_hit_counts_labels():
    Y = np.array([[0.0], [0.1], [5.0], [5.1], [5.3]])
    labels = ["a", "a", "b", "b", "a"]
    assert evaluate.neighborhood_hit(Y, labels, 1) == pytest.approx(4 / 5)


def test_bad_arrays_are_refused(pair):
    X, Y = pair
    with pytest.raises(InputError, match="less than half"):
        evaluate.trustworthiness(X, Y, 75)
    with pytest.raises(InputError, match="give a row of each"):
        evaluate.trustworthiness(X, Y[1:])
    with pytest.raises(InputError, match="embedding contains NaN"):
        evaluate.continuity(X, np.where(Y > 1, np.nan, Y))
