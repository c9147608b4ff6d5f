"""Maps that correct probabilities and distributions: likelihoods, laws, peers."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from likely import evaluate
from likely.core.checks import InputError
from likely.families import Normal, Poisson, Predictive, Recalibrated, Stretched


def drawn(rng, n, c, sharpness):
    logits = 1.5 * rng.normal(size=(n, c))
    p = softmax(logits, axis=1)
    codes = (rng.random(n)[:, None] > p.cumsum(1)).sum(1)
    return codes, softmax(sharpness * logits, axis=1)


def corrected(method, codes, probs, w=None):
    """The map that was fitted to rows, as a function of probabilities."""
    if method == "temperature":
        T = evaluate.temperature(codes, probs, w)
        return lambda p: evaluate.temperature_scaled(p, T)
    if method == "platt":
        found = evaluate.platt(codes, np.log(probs), w)
        return lambda p: found(np.log(p))
    return evaluate.isotonic(codes, probs, w)


def nll(codes, probs, w):
    return -w @ np.log(probs[np.arange(len(codes)), codes])


@pytest.mark.parametrize("c", [2, 4])
@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_the_likelihood_of_its_own_rows_never_falls(method, c, rng):
    for sharpness in (0.3, 1.0, 4.0, -1.0):
        for n in (c, 30, 300):
            codes, p = drawn(rng, n, c, sharpness)
            w = rng.integers(0, 3, n) + 1e-3
            before = nll(codes, p, w)
            q = corrected(method, codes, p, w)(p)
            np.testing.assert_allclose(q.sum(1), 1, rtol=1e-12)
            assert nll(codes, q, w) <= before + 1e-9 * abs(before)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_a_weight_is_a_repetition_and_zero_is_absent(method, rng):
    codes, p = drawn(rng, 200, 3, 2.5)
    w = rng.integers(0, 3, 200)
    rows = np.repeat(np.arange(200), w)
    garbage = np.where(w[:, None] == 0, 0.77, p)
    weighted = corrected(method, codes, garbage, w)(p)
    repeated = corrected(method, codes[rows], p[rows])(p)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-4, atol=1e-6)


def test_platt_is_logistic_regression_on_log_odds(rng):
    codes, p = drawn(rng, 3000, 2, 2.5)
    odds = np.log(p[:, 1] / p[:, 0])
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[:, None], codes)
    found = evaluate.platt(codes, np.log(p))
    np.testing.assert_allclose(found.slope, peer.coef_[0, 0], rtol=1e-3)
    gap = found.offset[1] - found.offset[0]
    np.testing.assert_allclose(gap, peer.intercept_[0], rtol=1e-2, atol=1e-4)
    apart = evaluate.platt([0, 0, 1, 1], np.array([[0.0, s] for s in (-2, -1, 1, 2)]))
    assert np.isfinite(apart.slope)  # the scores separate the classes
    with pytest.raises(InputError, match="finite numbers of all classes"):
        evaluate.platt([0, 1], np.array([[0.0, np.inf], [0.0, 1.0]]))


def test_platt_corrects_base_rates_that_a_temperature_cannot(rng):
    codes, p = drawn(rng, 4000, 3, 1.0)
    moved = softmax(np.log(p) + np.array([2.0, 0.0, -1.0]), axis=1)
    after = evaluate.platt(codes, np.log(moved))(np.log(moved))
    np.testing.assert_allclose(after, p, atol=0.05)


def test_isotonic_is_pooling_with_a_little_of_what_was_predicted(rng):
    codes, p = drawn(rng, 500, 2, 2.5)
    found = evaluate.isotonic_map(codes, p[:, 1])
    eps = 1 / np.sqrt(500)
    target = (codes + eps * p[:, 1]) / (1 + eps)
    peer = IsotonicRegression().fit(p[:, 1], target)
    np.testing.assert_allclose(found(p[:, 1]), peer.predict(p[:, 1]), rtol=1e-9)
    new = np.linspace(0, 1, 40)
    assert (np.diff(found(new)) >= 0).all()
    assert (found(new) > 0).all()
    assert (found(new) < 1).all()
    one = evaluate.isotonic_map([1], [0.3])
    assert 0.3 < one(0.9) < 1


def test_a_factor_and_a_map_of_the_transform_correct_distributions(rng):
    mean = rng.normal(size=1500)
    y = mean + np.where(rng.random(1500) < 0.5, 1.0, 4.0) * rng.exponential(size=1500)
    w = rng.integers(0, 3, 1500).astype(float)
    narrow = Predictive(Normal(0.5), mean[:, None])
    s = evaluate.stretch(y, narrow, w)
    assert s > 3
    wide = Stretched(narrow, s)
    map_ = Recalibrated(wide, *evaluate.pit_shares(y, wide, w))
    scores = [evaluate.log_score(y, d, w).value for d in (narrow, wide, map_)]
    assert scores[0] > scores[1] > scores[2]
    gaps = [evaluate.uniformity(evaluate.pit(y, d), w).distance for d in (wide, map_)]
    assert gaps[1] < 0.5 * gaps[0]
    rows = np.repeat(np.arange(1500), w.astype(int))
    again = evaluate.stretch(y[rows], narrow[rows])
    assert again == pytest.approx(s, rel=1e-4)
    right = Predictive(Normal(1.0), np.zeros((40, 1)))
    assert 0.5 < evaluate.stretch(rng.normal(size=40), right) < 2


@pytest.mark.slow  # selection has a shorter one
def test_counts_are_corrected_too(rng):
    k = rng.negative_binomial(2, 0.2, 1000).astype(float)
    poisson = Predictive(Poisson(), np.full((1000, 1), np.log(k.mean())))
    map_ = Recalibrated(poisson, *evaluate.pit_shares(k, poisson))
    assert (
        evaluate.log_score(k, map_).value < evaluate.log_score(k, poisson).value - 0.5
    )
    every = np.arange(200.0)
    total = np.exp(map_[np.zeros(200, int)].log_prob(every)).sum()
    assert total == pytest.approx(1, abs=1e-9)
    with pytest.raises(InputError, match="for counts take pit_shares"):
        evaluate.stretch(k, poisson)
    levels, shares = evaluate.pit_shares(k[:3], poisson[:3])
    np.testing.assert_array_equal(levels, [0.0, 1.0])
    assert shares.tolist() == [1.0]


def test_finite_scores_from_impossible_classes():
    T = evaluate.temperature([0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    odds = np.log(np.finfo(float).tiny)  # what an impossible class counts as
    assert pytest.approx(-odds / np.log(2), rel=1e-3) == T
    logs = log_softmax(np.array([[0.0, -700.0], [0.0, -700.0]]), axis=1)
    assert 0.3 < evaluate.platt([0, 1], logs)(logs)[0, 1] < 0.7
