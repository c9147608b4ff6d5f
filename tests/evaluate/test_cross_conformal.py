"""Conformal sets and intervals from arrays: order statistics, and exact coverage."""

import numpy as np
import pytest

from likely import evaluate
from likely.core.checks import InputError
from likely.evaluate.cross_conformal import upper_quantile


def test_intervals_are_the_order_statistics_of_the_formula(rng):
    n, m, k = 19, 4, 3
    means, fold = rng.normal(size=(k, m)), np.arange(n) % k
    R = rng.exponential(size=n)
    low, high = evaluate.cross_intervals(means, fold, R, 0.8)
    for j in range(m):
        centre = means[fold, j]
        assert low[j] == np.sort(centre - R)[int(np.floor(0.2 * 20 + 1e-9)) - 1]
        assert high[j] == np.sort(centre + R)[int(np.ceil(0.8 * 20 - 1e-9)) - 1]
    w = rng.integers(0, 3, n).astype(float)
    rows = np.repeat(np.arange(n), w.astype(int))
    weighted = evaluate.cross_intervals(means, fold, R, 0.8, w)
    repeated = evaluate.cross_intervals(means, fold[rows], R[rows], 0.8)
    np.testing.assert_array_equal(weighted, repeated)


def test_too_few_rows_reach_infinitely_far():
    values = np.arange(8.0)[:, None]
    assert upper_quantile(values, 0.9, np.ones(8))[0] == np.inf
    assert upper_quantile(np.arange(9.0)[:, None], 0.9, np.ones(9))[0] == 8
    for coverage in (0.0, 1.0):
        with pytest.raises(InputError, match="between 0 and 1"):
            evaluate.cross_intervals(values.T, [0], [1.0], coverage)


def test_sets_with_one_model_are_those_of_the_radius(rng):
    held, new = rng.random(30), rng.random((5, 3))
    sets = evaluate.cross_sets(new[None], np.zeros(30, int), held, 0.8)
    np.testing.assert_array_equal(sets, new <= evaluate.radius(held, 0.8))


def test_adaptive_scores_by_hand():
    p = np.array([[0.2, 0.5, 0.3]])
    np.testing.assert_allclose(evaluate.adaptive_scores(p), [[1.0, 0.5, 0.8]])
    found = evaluate.adaptive_scores(p, [0.5])
    np.testing.assert_allclose(found, [[0.9, 0.25, 0.65]])
    assert evaluate.adaptive_sets(p, 0.7, [0.5]).tolist() == [[False, True, True]]


def test_adaptive_sets_cover_exactly(rng):
    """The mean of many splits is ⌈(n+1)(1−α)⌉/(n+1), whatever the model."""
    n, shares = 40, []
    for _ in range(400):
        logits = 2 * rng.normal(size=(n + 200, 4))
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        codes = (rng.random(len(p))[:, None] > p.cumsum(1)).sum(1)
        wrong = p[:, ::-1] if n % 2 else evaluate.temperature_scaled(p, 0.3)
        scores = evaluate.adaptive_scores(wrong, rng.random(len(p)))
        own = scores[np.arange(len(p)), codes]
        shares.append(np.mean(own[n:] <= evaluate.radius(own[:n], 0.9)))
    error = np.std(shares, ddof=1) / 20
    assert abs(np.mean(shares) - np.ceil(41 * 0.9) / 41) < 2.6 * error


def test_bands_that_are_moved(rng):
    y, low = rng.normal(size=(2, 50))
    high = low + rng.exponential(size=50)
    scores = evaluate.band_scores(y, low, high)
    np.testing.assert_array_equal(scores <= 0, (low <= y) & (y <= high))
    for q in (0.4, -0.2, -3.0):
        a, b = evaluate.widened(low, high, q)
        assert (a <= b).all()
        inside = (a <= y) & (y <= b)
        np.testing.assert_array_equal(inside, scores <= q)
