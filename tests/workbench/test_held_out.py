"""Held-out distributions, and mixtures of them, against the exact ones."""

import numpy as np
import pytest
from scipy import stats

from likely.families import (
    Categorical,
    Exponentiated,
    Mixed,
    Mixture,
    Normal,
    Poisson,
    Predictive,
    Stretched,
)
from likely.workbench import quantiles
from likely.workbench.held_out import (
    HeldOutPredictions,
    concatenated,
    held_out_predictions,
    mixed,
)
from likely.workbench.quantiles import LEVELS, quantile_table

ROWS = np.arange(40)


@pytest.fixture
def numbers(rng):
    m = rng.normal(size=(40, 1))
    y = m[:, 0] + rng.normal(size=40)
    dists = [Predictive(Normal(s), m + shift) for s, shift in ((1.0, 0.0), (2.0, 0.5))]
    return y, dists


def test_held_out_predictions_are_those_of_the_distribution(numbers, tmp_path):
    y, (dist, _) = numbers
    predictions = held_out_predictions(dist, y, ROWS, "real")
    mean = dist.eta[:, 0]
    np.testing.assert_allclose(
        predictions.loss, -stats.norm(mean, 1).logpdf(y), rtol=1e-9
    )
    np.testing.assert_allclose(predictions.pit, stats.norm(mean, 1).cdf(y), rtol=1e-9)
    np.testing.assert_allclose(
        predictions.quantiles,
        mean[:, None] + stats.norm.ppf(LEVELS)[None],
        rtol=1e-6,
        atol=1e-8,
    )
    predictions.save(tmp_path / "held.npz")
    again = HeldOutPredictions.load(tmp_path / "held.npz")
    for a, b in zip(predictions, again, strict=True):
        assert (a is None and b is None) or np.array_equal(a, b)


def test_a_mixture_of_predictions_is_close_to_the_exact_one(numbers):
    y, dists = numbers
    weights = np.array([0.4, 0.6])
    ours = mixed([held_out_predictions(d, y, ROWS, "real") for d in dists], weights)
    exact = held_out_predictions(Mixed(dists, weights), y, ROWS, "real")
    np.testing.assert_allclose(ours.loss, exact.loss, rtol=1e-9)
    np.testing.assert_allclose(ours.mean, exact.mean, rtol=1e-9)
    np.testing.assert_allclose(ours.pit, exact.pit, rtol=1e-9)
    inner = slice(2, -2)
    gap = np.abs(ours.quantiles - exact.quantiles)[:, inner]
    assert gap.max() < 0.1


def test_a_table_of_a_mixture_of_normals_is_close_to_the_exact_quantiles(rng):
    m, s = rng.normal(size=(30, 8)), np.exp(0.5 * rng.normal(size=(30, 8)))
    parts = np.stack([m, np.log(s)], axis=2).reshape(30, -1)
    family = Mixture(Normal(), 8)
    forest = Predictive(family, np.c_[np.zeros((30, 8)), parts])
    z = quantile_table(forest)
    reached = np.mean(stats.norm.cdf(z[:, None], m[..., None], s[..., None]), axis=1)
    assert np.abs(reached - LEVELS).max() < 5e-3
    assert np.abs(reached - LEVELS).mean() < 2e-4
    y = quantile_table(Stretched(Exponentiated(forest), 2.0))
    middle = np.exp(z[:, 7:8])
    np.testing.assert_allclose(y, middle + 2 * (np.exp(z) - middle), rtol=1e-6)


def test_mixed_classes_and_concatenated_folds(rng):
    eta = rng.normal(size=(40, 3))
    y = rng.integers(0, 3, 40)
    predictions = held_out_predictions(
        Predictive(Categorical(3), eta), y, ROWS, "classes"
    )
    same = mixed([predictions, predictions], np.array([0.5, 0.5]))
    np.testing.assert_allclose(same.probs, predictions.probs)
    np.testing.assert_allclose(same.loss, predictions.loss)
    odd, even = (
        HeldOutPredictions(*(None if a is None else a[k::2] for a in predictions))
        for k in (1, 0)
    )
    back = concatenated([odd, even])
    for a, b in zip(predictions, back, strict=True):
        assert (a is None and b is None) or np.array_equal(a, b)


def test_counts_fall_in_the_middle_of_their_step():
    dist = Predictive(Poisson(), np.log([[3.0], [3.0]]))
    predictions = held_out_predictions(
        dist, np.array([0.0, 3.0]), np.arange(2), "count"
    )
    peer = stats.poisson(3)
    want = [peer.pmf(0) / 2, (peer.cdf(2) + peer.cdf(3)) / 2]
    np.testing.assert_allclose(predictions.pit, want, rtol=1e-6)


@pytest.mark.parametrize("limit", [1000, 0])
def test_levels_of_counts_are_reached_within_a_step(limit, monkeypatch):
    """By adding up the probabilities, and where there are too many by searching."""
    monkeypatch.setattr(quantiles, "MAX_COUNTS", limit)
    means = np.array([0.05, 0.7, 3.0, 40.0])
    table = quantile_table(Predictive(Poisson(), np.log(means)[:, None]))
    for row, mean in zip(table, means, strict=True):
        peer = stats.poisson(mean)
        y = peer.ppf(LEVELS)
        share = (LEVELS - peer.cdf(y - 1)) / peer.pmf(y)
        np.testing.assert_allclose(row, y - 0.5 + share, rtol=1e-6)


def test_large_counts_are_searched_for_and_not_added_up(monkeypatch):
    asked, ask = [], Predictive.log_prob
    monkeypatch.setattr(
        Predictive, "log_prob", lambda d, y: asked.append(1) or ask(d, y)
    )
    table = quantile_table(Predictive(Poisson(), np.log([[2.0], [5e5]])))
    assert len(asked) <= quantiles.MAX_COUNTS
    np.testing.assert_allclose(table[1], stats.poisson(5e5).ppf(LEVELS), atol=0.51)
