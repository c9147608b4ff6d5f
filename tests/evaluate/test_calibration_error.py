"""Calibration errors by name: by hand, without the part that is noise, with intervals."""

import numpy as np
import pytest

from likely import evaluate
from likely.core.checks import InputError


def drawn(rng, n, sharpness=1.0):
    """An event, its probability made more extreme by a factor on the log-odds."""
    z = 1.5 * rng.normal(size=n)
    happened = rng.random(n) < 1 / (1 + np.exp(-z))
    return happened.astype(float), 1 / (1 + np.exp(-sharpness * z))


def test_errors_by_hand():
    """Bins of width 1/2: top label (3/4)|2/3 − 0.8| + (1/4)|1 − 0.5|, ..."""
    p = np.array([[0.8, 0.2], [0.3, 0.7], [0.1, 0.9], [0.5, 0.5]])
    codes = [0, 1, 0, 0]
    top = evaluate.top_label_error(codes, p, bins=2, n_resamples=0)
    assert top.value == pytest.approx(0.75 * abs(2 / 3 - 0.8) + 0.25 * 0.5)
    assert top.name == "top-label calibration error, 2 bins of equal width"
    assert np.isnan(top.interval).all()
    each = [
        # class 0: {0.8} happened; {0.3, 0.1, 0.5}: 2 of 3; class 1 is the mirror image
        0.25 * abs(1 - 0.8) + 0.75 * abs(2 / 3 - 0.3),
        0.25 * abs(0 - 0.2) + 0.5 * abs(0.5 - 0.8) + 0.25 * abs(0 - 0.5),
    ]
    both = evaluate.classwise_error(codes, p, bins=2, n_resamples=0)
    # 0.5 is in the lower bin of both classes; class 1 has {0.2, 0.5} and {0.7, 0.9} there
    each[1] = 0.5 * abs(0 - 0.35) + 0.5 * abs(0.5 - 0.8)
    assert both.value == pytest.approx(np.mean(each))
    equal = evaluate.event_error(
        [1, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], bins=2, equal="weight", n_resamples=0
    )
    assert equal.value == pytest.approx(0.5 * abs(0.5 - 0.15) + 0.5 * abs(1 - 0.75))


def test_the_squared_error_is_the_mean_over_pairs_of_different_rows():
    happened, p = np.array([1.0, 0, 1, 1, 0]), np.array([0.1, 0.3, 0.2, 0.9, 0.6])
    d = happened - p
    low, high = d[:3], d[3:]
    pairs = [np.mean([a * b for i, a in enumerate(x) for j, b in enumerate(x) if i != j])
             for x in (low, high)]  # fmt: skip
    found = evaluate.event_error(happened, p, bins=2, n_resamples=0)
    assert found.squared == pytest.approx(0.6 * pairs[0] + 0.4 * pairs[1], rel=1e-12)


def test_a_weight_is_a_repetition(rng):
    happened, p = drawn(rng, 300, 2.0)
    w = rng.integers(0, 4, 300)
    rows = np.repeat(np.arange(300), w)
    for equal in ("width", "weight"):
        options = {"equal": equal, "n_resamples": 0}
        repeated = evaluate.event_error(happened[rows], p[rows], **options)
        garbage = np.where(w == 0, np.nan, p)
        weighted = evaluate.event_error(happened, garbage, w, **options)
        np.testing.assert_allclose(weighted[1:4], repeated[1:4], rtol=1e-10)


def test_the_debiased_error_is_zero_for_a_perfect_model(rng):
    found = [evaluate.event_error(*drawn(rng, 400), n_resamples=0) for _ in range(200)]
    value, debiased, squared = np.array([f[1:4] for f in found]).T
    assert value.mean() > 0.05
    for estimate in (debiased, squared):
        assert abs(estimate.mean()) < 3 * estimate.std() / np.sqrt(200)
    sure = evaluate.event_error(*drawn(rng, 20_000, 3.0), n_resamples=0)
    assert sure.debiased == pytest.approx(sure.value, abs=0.003)


def test_intervals_hold_the_true_error(rng):
    happened, p = drawn(rng, 200_000, 2.0)
    truth = evaluate.event_error(happened, p, n_resamples=0).value
    held = []
    for _ in range(60):
        rows = rng.integers(0, 200_000, 300)
        options = {"n_resamples": 100, "random_state": rng}
        low, high = evaluate.event_error(happened[rows], p[rows], **options).interval
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.85
    low, high = evaluate.event_error(*drawn(rng, 300), random_state=0).interval
    assert low == 0.0
    assert high < 0.13


def test_what_cannot_be_binned_gets_a_sentence():
    with pytest.raises(InputError, match="numbers from 0 to 1"):
        evaluate.event_error([1, 0], [0.5, 1.5])
    with pytest.raises(InputError, match="'width' or 'weight'"):
        evaluate.event_error([1, 0], [0.5, 0.5], equal="mass")
    one = evaluate.event_error([1.0], [0.4])
    assert one.value == pytest.approx(0.6)
    assert "event calibration error" in str(one)
