"""Proper scores from distributions and draws, and the probability integral transform."""

import numpy as np
import pytest
from scipy import stats

from likely import evaluate
from likely.core.checks import InputError
from likely.families import (
    Categorical,
    Hurdle,
    LogNormal,
    Normal,
    Poisson,
    Predictive,
)


def test_scores_of_distributions_are_means_over_rows(rng):
    mean, y = rng.normal(size=(2, 200))
    w = rng.integers(0, 3, 200).astype(float)
    dist = Predictive(Normal(2.0), mean[:, None])
    peer = stats.norm(mean, 2.0)
    found = evaluate.log_score(np.where(w > 0, y, np.nan), dist, w)
    assert found.value == pytest.approx(-np.average(peer.logpdf(y), weights=w))
    each = dist.crps(y)
    assert evaluate.crps(y, dist, w).value == pytest.approx(np.average(each, weights=w))
    low, high = peer.interval(0.8)
    missed = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    want = np.mean(high - low + 2 / 0.2 * missed)
    assert evaluate.interval_score(y, low, high, 0.8).value == pytest.approx(want)
    with pytest.raises(InputError, match="between 0 and 1"):
        evaluate.interval_score(y, low, high, 80.0)


def test_the_energy_score_is_the_mean_over_pairs(rng):
    y, draws = rng.normal(size=(7, 3)), rng.normal(size=(5, 7, 3))
    near = np.linalg.norm(draws - y, axis=2).mean(0)
    gaps = np.linalg.norm(draws[:, None] - draws, axis=3)
    for fair, pairs in ((True, 20), (False, 25)):
        want = near - gaps.sum((0, 1)) / (2 * pairs)
        found = evaluate.energy_score(y, draws, fair=fair)
        assert found.value == pytest.approx(want.mean(), rel=1e-12)
        one = evaluate.energy_score(y[:, :1], draws[..., :1], fair=fair)
        number = evaluate.energy_score(y[:, 0], draws[..., 0], fair=fair)
        assert one.value == pytest.approx(number.value, rel=1e-12)
    with pytest.raises(InputError, match="shape \\(m, n, q\\)"):
        evaluate.energy_score(y, draws[..., :2])
    with pytest.raises(InputError, match="fair=False"):
        evaluate.energy_score(y, draws[:1])


def test_the_fair_score_of_few_draws_is_that_of_the_distribution(rng):
    y = rng.normal(size=4000)
    exact = evaluate.crps(y, Predictive(Normal(1.5), np.zeros((4000, 1))))
    few = 1.5 * rng.normal(size=(3, 4000))
    fair, plain = (evaluate.energy_score(y, few, fair=f) for f in (True, False))
    assert abs(fair.value - exact.value) < 3 * fair.error
    assert plain.value > exact.value + 3 * plain.error


def test_the_energy_score_sees_a_wrong_dependence(rng):
    L = np.array([[1.0, 0.0], [0.9, np.sqrt(1 - 0.81)]])
    y = rng.normal(size=(400, 2)) @ L.T
    draws = rng.normal(size=(40, 400, 2))
    right, wrong = (
        evaluate.energy_score(y, draws @ L.T),
        evaluate.energy_score(y, draws),
    )
    assert right.value + 0.02 < wrong.value  # the rows are the same


def test_randomised_transforms_are_uniform(rng):
    k = rng.poisson(2.0, 2000)
    counts = Predictive(Poisson(), np.full((2000, 1), np.log(2.0)))
    zero = rng.random(2000) < 0.6
    y = np.where(zero, 0.0, np.exp(rng.normal(size=2000)))
    eta = np.tile([np.log(0.6 / 0.4), 0.0, 0.0], (2000, 1))
    logits = rng.normal(size=(2000, 3))
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    label = (rng.random(2000)[:, None] > probs.cumsum(1)).sum(1)
    rows = {
        "counts": (k, counts),
        "zero or positive": (y, Predictive(Hurdle(LogNormal()), eta)),
        "classes": (label, Predictive(Categorical(3), logits, ["a", "b", "c"])),
    }
    for name, (seen, dist) in rows.items():
        seen = np.array(["a", "b", "c"])[seen] if name == "classes" else seen
        u = evaluate.pit(seen, dist, random_state=1)
        assert stats.kstest(u, "uniform").pvalue > 0.001, name
        middle = evaluate.pit(seen, dist, random_state=None)
        assert stats.kstest(middle, "uniform").pvalue < 0.001, name
    np.testing.assert_array_equal(evaluate.pit(k, counts), evaluate.pit(k, counts))
    normal = Predictive(Normal(), np.zeros((4, 2)))
    np.testing.assert_allclose(evaluate.pit([-1.0, 0, 1, 2], normal),
                               stats.norm.cdf([-1.0, 0, 1, 2]))  # fmt: skip
