"""Scores, curves, calibration and conformal sets, against scikit-learn and simulation."""

import numpy as np
import pytest
from sklearn import metrics

from likely import evaluate
from likely.core.checks import InputError


@pytest.fixture
def classes(rng):
    """Rows whose class is drawn from the probabilities, and weights."""
    logits = 1.5 * rng.normal(size=(4000, 3))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    codes = (rng.random(4000)[:, None] > p.cumsum(1)).sum(1)
    return codes, p, rng.integers(0, 3, 4000).astype(float)


def test_scores_equal_scikit_learn(classes, rng):
    codes, p, w = classes
    y, mean = rng.normal(size=(2, 4000))
    pairs = [
        (evaluate.squared_error, metrics.mean_squared_error, (y, mean)),
        (evaluate.absolute_error, metrics.mean_absolute_error, (y, mean)),
        (evaluate.r_squared, metrics.r2_score, (y, mean)),
    ]
    for ours, theirs, rows in pairs:
        got = ours(*rows, w)
        got = got.value if isinstance(got, evaluate.Score) else got
        assert got == pytest.approx(theirs(*rows, sample_weight=w), rel=1e-12)
    level = evaluate.pinball(y, mean, 0.3, w).value
    want = metrics.mean_pinball_loss(y, mean, sample_weight=w, alpha=0.3)
    assert level == pytest.approx(want, rel=1e-12)
    wrong = evaluate.error_rate(codes, p, w).value
    right = metrics.accuracy_score(codes, p.argmax(1), sample_weight=w)
    assert wrong == pytest.approx(1 - right, rel=1e-12)
    want = metrics.confusion_matrix(codes, p.argmax(1), sample_weight=w)
    np.testing.assert_allclose(evaluate.confusion(codes, p, w), want)
    two = p[:, :2] / p[:, :2].sum(1, keepdims=True)
    happened = (codes == 1).astype(int)
    want = 2 * metrics.brier_score_loss(happened, two[:, 1], sample_weight=w)
    assert evaluate.brier(happened, two, w).value == pytest.approx(want, rel=1e-12)


def test_weights_are_counts_and_absent_rows_are_absent(rng):
    losses, w = rng.normal(size=50), rng.integers(0, 4, 50).astype(float)
    repeated = np.repeat(losses, w.astype(int))
    losses[w == 0] = np.nan
    got = evaluate.mean_score(losses, w)
    assert got.value == pytest.approx(repeated.mean(), rel=1e-13)
    want = repeated.std(ddof=1) / np.sqrt(len(repeated))
    assert got.error == pytest.approx(want, rel=1e-13)


def test_paired_differences_are_less_noisy_and_survive_infinities(rng):
    a = rng.normal(size=500)
    b = a + 0.1 + 0.01 * rng.normal(size=500)
    gap = evaluate.paired_difference(b, a)
    assert gap.value == pytest.approx(0.1, abs=0.002)
    assert gap.error < 0.1 * evaluate.mean_score(a).error
    a[0] = b[0] = np.inf
    assert np.isfinite(evaluate.paired_difference(a, b).value)


@pytest.mark.parametrize("ties", [False, True])
def test_curves_equal_scikit_learn(ties, rng):
    score = rng.normal(size=300)
    if ties:
        score = np.round(score, 1)
    positive = (rng.random(300) < 1 / (1 + np.exp(-score))).astype(int)
    w = rng.integers(0, 3, 300).astype(float)
    curve = evaluate.operating_points(positive, score, w)
    want = metrics.roc_auc_score(positive, score, sample_weight=w)
    assert curve.area == pytest.approx(want, rel=1e-12)
    want = metrics.average_precision_score(positive, score, sample_weight=w)
    assert curve.average_precision == pytest.approx(want, rel=1e-12)
    with pytest.raises(InputError, match="one kind"):
        _ = evaluate.operating_points(np.ones(3), np.arange(3.0)).area


def test_a_calibrated_model_has_no_more_error_than_noise(classes):
    codes, p, _ = classes
    for equal in ("width", "weight"):
        found = evaluate.reliability(codes, p, equal=equal)
        assert found.expected_error < 2 * found.noise
        sharp = evaluate.reliability(
            codes, evaluate.temperature_scaled(p, 0.4), equal=equal
        )
        assert sharp.expected_error > 5 * sharp.noise
    assert found.weight.sum() == 4000
    assert np.ptp(found.weight) <= 1


def test_the_expected_calibration_error_of_two_bins():
    """(2/4)|1 − 0.7| + (2/4)|0.5 − 0.9|, by hand."""
    p = np.array([[0.6, 0.4], [0.8, 0.2], [0.85, 0.15], [0.05, 0.95]])
    found = evaluate.reliability([0, 0, 1, 1], p, bins=5)
    assert found.expected_error == pytest.approx(
        (1 / 4) * 0.4 + (1 / 4) * 0.2 + (2 / 4) * 0.4
    )


def test_temperature_undoes_overconfidence(classes):
    codes, p, w = classes
    assert evaluate.temperature(codes, p, w) == pytest.approx(1, abs=0.1)
    hot = evaluate.temperature_scaled(p, 0.5)
    T = evaluate.temperature(codes, hot, w)
    assert pytest.approx(2, rel=0.1) == T
    np.testing.assert_allclose(
        evaluate.temperature_scaled(hot, T),
        evaluate.temperature_scaled(p, 0.5 * T),
        atol=1e-12,
    )
    assert (evaluate.temperature_scaled(hot, T).argmax(1) == p.argmax(1)).all()


def test_uniformity_sees_intervals_that_are_too_narrow(rng):
    from scipy.stats import norm

    z = rng.normal(size=2000)
    right, narrow = (evaluate.uniformity(norm.cdf(z * s)) for s in (1.0, 2.0))
    assert right.distance < right.noise
    assert narrow.distance > 3 * narrow.noise
    assert narrow.share[0] > 2 / 20 < narrow.share[-1]


def test_conformal_intervals_cover_whatever_the_model(rng):
    """The model says N(0, 1) where the truth is three times as wide, and skewed."""
    shares = []
    for _ in range(200):
        y = 3 * (rng.exponential(size=400) - 1)
        ends = np.full(400, -1.645), np.zeros(400), np.full(400, 1.645)
        scores = evaluate.interval_scores(y[:200], *(e[:200] for e in ends))
        q = evaluate.radius(scores, 0.9)
        low, high = evaluate.stretched(*(e[200:] for e in ends), q)
        shares.append(evaluate.coverage_of_intervals(y[200:], low, high))
    assert 0.895 < np.mean(shares) < 0.915


def test_conformal_sets_cover_where_a_fixed_threshold_does_not(classes):
    """An over-confident model: γ = 0.9 covers far too little, the quantile covers."""
    codes, p, _ = classes
    sharp = evaluate.temperature_scaled(p, 0.2)
    fixed, _ = evaluate.coverage_of_sets(codes, sharp >= 0.9)
    q = evaluate.radius(evaluate.class_scores(codes[:2000], sharp[:2000]), 0.9)
    share, size = evaluate.coverage_of_sets(
        codes[2000:], evaluate.class_sets(sharp[2000:], q)
    )
    assert fixed < 0.75
    assert 0.88 < share < 0.92
    assert 1 < size < 3


def test_the_radius_is_the_corrected_order_statistic():
    scores = np.arange(1.0, 20.0)  # 19 scores: ceil(20 · 0.9) = 18th
    assert evaluate.radius(scores, 0.9) == 18
    assert evaluate.radius(scores[:5], 0.9) == np.inf
    assert (
        evaluate.radius(np.append(scores, 99.0), 0.9, np.append(np.ones(19), 0)) == 18
    )
    with pytest.raises(InputError, match="between 0 and 1"):
        evaluate.radius(scores, 1.0)
