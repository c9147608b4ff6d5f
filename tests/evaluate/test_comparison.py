"""Tests between models: DeLong's, the paired bootstrap, the corrected t-test."""

import numpy as np
import pytest
from scipy import stats

from likely import evaluate
from likely.core.checks import InputError


def pairs(y, score):
    """ψ of all pairs of a positive and a negative row, by definition."""
    high, low = score[y == 1], score[y == 0]
    return (high[:, None] > low) + 0.5 * (high[:, None] == low)


def delong(psi):
    """The variance of the mean of ψ over pairs."""
    return psi.mean(1).var(ddof=1) / len(psi) + psi.mean(0).var(ddof=1) / psi.shape[1]


@pytest.fixture
def scored(rng):
    y = (rng.random(120) < 0.4).astype(int)
    a = np.round(y + rng.normal(size=120), 1)  # with ties
    return y, a, np.round(a + rng.normal(size=120), 1)


def test_the_error_of_an_area_is_that_of_all_pairs(scored):
    y, a, b = scored
    found = evaluate.auc_interval(y, a)
    psi = pairs(y, a)
    assert found.value == pytest.approx(psi.mean(), rel=1e-12)
    assert found.error == pytest.approx(np.sqrt(delong(psi)), rel=1e-12)
    middle, half = stats.logistic.ppf(psi.mean()), 1.959964 * found.error
    half /= psi.mean() * (1 - psi.mean())
    np.testing.assert_allclose(
        found.interval, stats.logistic.cdf([middle - half, middle + half]), rtol=1e-6
    )
    test = evaluate.auc_test(y, a, b, names=("plain", "noisy"))
    gap = psi - pairs(y, b)
    assert test.difference == pytest.approx(gap.mean(), rel=1e-12)
    assert test.error == pytest.approx(np.sqrt(delong(gap)), rel=1e-12)
    want = 2 * stats.norm.sf(abs(gap.mean()) / test.error)
    assert test.p_value == pytest.approx(want, rel=1e-9)
    assert "the AUC of plain is larger" in test.verdict
    assert test.shown == (want <= 0.05)


def test_areas_with_weights_and_at_the_edge(scored, rng):
    y, a, b = scored
    w = rng.integers(0, 3, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    weighted = evaluate.auc_test(y, np.where(w > 0, a, np.nan), b, w)
    repeated = evaluate.auc_test(y[rows], a[rows], b[rows])
    assert weighted.difference == pytest.approx(repeated.difference, rel=1e-12)
    assert weighted.error == pytest.approx(repeated.error, rel=1e-12)
    perfect = evaluate.auc_interval([0, 0, 0, 1, 1], [1, 2, 3, 4, 5])
    assert perfect.value == 1
    assert perfect.interval == pytest.approx((0.025**0.5, 1.0))
    single = evaluate.auc_interval([0, 0, 1], [1, 3, 2])
    assert np.isnan(single.error)
    assert single.interval == (0.0, 1.0)
    same = evaluate.auc_test(y, a, a)
    assert same.p_value == 1
    assert same.verdict == "No difference shown between a and b: their AUC is the same."
    with pytest.raises(InputError, match="no positive row"):
        evaluate.auc_interval([0, 0], [1, 2])


def test_delongs_p_values_are_uniform_where_there_is_no_difference(rng):
    found = []
    for _ in range(300):
        y = np.arange(80) % 2
        a, b = y + rng.normal(size=(2, 80))
        found.append(evaluate.auc_test(y, a, b).p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.001


def test_the_bootstrap_finds_differences_and_no_others(rng):
    a = rng.exponential(size=60)
    found = evaluate.paired_bootstrap(a + 0.3 + 0.1 * rng.normal(size=60), a)
    assert found.shown
    assert found.verdict.startswith("b is better: the loss of a is larger by 0.3")
    low, high = found.interval
    assert 0.2 < low < 0.3 < high < 0.4
    p = []
    for seed in range(200):
        gap = rng.exponential(size=40) - 1
        p.append(
            evaluate.paired_bootstrap(
                gap, np.zeros(40), n_resamples=199, random_state=seed
            ).p_value
        )
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.11


def test_the_bootstrap_counts_weights_and_infinities():
    a, b = np.array([1.0, 2.0, np.inf, 5.0]), np.array([0.5, 2.5, np.inf, np.nan])
    w = np.array([2.0, 3.0, 1.0, 0.0])
    found = evaluate.paired_bootstrap(a, b, w)
    assert found.difference == pytest.approx((2 * 0.5 - 3 * 0.5) / 6)
    same = evaluate.paired_bootstrap(a[:2], a[:2])
    assert (same.p_value, same.shown) == (1.0, False)
    with pytest.raises(InputError, match="row 0 of those that count are 1.0 and inf"):
        evaluate.paired_bootstrap([1.0, 2.0], [np.inf, 2.0])
    with pytest.raises(InputError, match="one row"):
        evaluate.paired_bootstrap([1.0], [2.0])


def test_the_corrected_t_test(rng):
    a, b = rng.normal(size=(2, 10))
    plain = evaluate.corrected_t_test(a, b, ratio=0.0)
    want = stats.ttest_rel(a, b)
    assert plain.p_value == pytest.approx(want.pvalue, rel=1e-9)
    found = evaluate.corrected_t_test(a, b)
    t = (a - b).mean() / np.sqrt((1 / 10 + 1 / 9) * (a - b).var(ddof=1))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=1e-9)
    assert found.interval[0] < plain.interval[0]
    repeated = evaluate.corrected_t_test(a.reshape(2, 5), b.reshape(2, 5))
    s = np.sqrt((1 / 10 + 1 / 4) * (a - b).var(ddof=1))
    assert repeated.error == pytest.approx(s, rel=1e-12)
    assert "No difference shown" in str(repeated) or repeated.shown
    with pytest.raises(InputError, match="one fold in each repetition"):
        evaluate.corrected_t_test(a[:, None], b[:, None])


def test_splits_that_share_rows_need_the_correction(rng):
    """Two equal learners on 15 random splits: the plain test "finds" a difference."""
    plain, corrected = [], []
    for _ in range(100):
        X = rng.normal(size=(60, 2))
        y = X.sum(1) + 0.5 * rng.normal(size=60)
        losses = np.empty((2, 15))
        for r in range(15):
            order = rng.permutation(60)
            train, test = order[:40], order[40:]
            for j, x in enumerate(X.T):
                slope = x[train] @ y[train] / (x[train] @ x[train])
                losses[j, r] = np.mean((y[test] - slope * x[test]) ** 2)
        plain.append(evaluate.corrected_t_test(*losses, ratio=0.0).shown)
        corrected.append(evaluate.corrected_t_test(*losses, ratio=0.5).shown)
    assert np.mean(plain) > 0.3
    assert np.mean(corrected) < 0.2
