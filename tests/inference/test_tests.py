"""t, anova, correlation and nested tests, against SciPy."""

import numpy as np
import pytest
from scipy import stats

import likely as lk
from likely import inference
from likely.core import InputError


@pytest.fixture
def groups(rng):
    return [rng.normal(loc, 1 + loc, size=n) for loc, n in ((0, 12), (0.5, 9), (1, 20))]


@pytest.mark.parametrize("equal", [True, False])
def test_t_test_is_scipys(equal, groups):
    found = lk.t_test(groups[0], groups[1], equal_variances=equal)
    peer = stats.ttest_ind(groups[0], groups[1], equal_var=equal)
    np.testing.assert_allclose(found.statistic, peer.statistic)
    np.testing.assert_allclose(found.p_value, peer.pvalue)
    np.testing.assert_allclose(found.df[0], peer.df)


def test_anova_is_scipys_and_the_nested_test_of_indicators(groups):
    found, peer = lk.anova(*groups), stats.f_oneway(*groups)
    np.testing.assert_allclose(found[0], peer.statistic)
    np.testing.assert_allclose(found.p_value, peer.pvalue)
    kind = np.repeat(np.arange(3), [len(g) for g in groups])
    X = np.column_stack([kind == 1, kind == 2]).astype(float)
    model = lk.LinearRegression().fit(X, np.concatenate(groups))
    np.testing.assert_allclose(model.summary().estimate.f_test[0], found.statistic)
    t, f = lk.t_test(*groups[:2]), lk.anova(*groups[:2])
    np.testing.assert_allclose(t.statistic**2, f.statistic)


def test_weights_are_counts(groups, rng):
    w = [rng.integers(0, 3, len(g)) for g in groups[:2]]
    repeated = [np.repeat(g, k) for g, k in zip(groups, w, strict=False)]
    spoiled = [np.where(k > 0, g, np.nan) for g, k in zip(groups, w, strict=False)]
    for test in (lk.t_test, lk.anova):
        np.testing.assert_allclose(
            test(*spoiled, weights=w).p_value, test(*repeated).p_value
        )


def test_correlation_and_regression_to_the_mean(rng):
    x = rng.normal(size=60)
    y = 3 * x + rng.normal(size=60)
    found, peer = lk.correlation(x, y), stats.pearsonr(x, y)
    np.testing.assert_allclose(found.rho, peer.statistic)
    np.testing.assert_allclose(found.p_value, peer.pvalue, rtol=1e-6)
    np.testing.assert_allclose(found.interval, peer.confidence_interval(), rtol=1e-6)
    line = lk.LinearRegression().fit(x[:, None], y)
    np.testing.assert_allclose(found.slope, line.coef_[0])
    assert abs(found.slope - found.rho) > 1  # centring is not enough
    z = lk.LinearRegression().fit(stats.zscore(x)[:, None], stats.zscore(y))
    np.testing.assert_allclose(z.coef_[0], found.rho)
    assert abs(found.expected(2.0)) < 2


def test_linearity_is_tested_by_a_spline(rng):
    x = rng.uniform(0, 6, size=150)
    assert lk.linearity_test(x, np.sin(x) + 0.3 * rng.normal(size=150)).p_value < 1e-6
    p = [lk.linearity_test(x, 2 * x + rng.normal(size=150)).p_value for _ in range(300)]
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_sentences(groups):
    with pytest.raises(InputError, match="at least two"):
        lk.anova(groups[0])
    with pytest.raises(InputError, match="two finite numbers"):
        lk.t_test([1.0], groups[0])
    with pytest.raises(InputError, match="columns that vary"):
        lk.correlation(np.ones(5), np.arange(5.0))
    with pytest.raises(InputError, match="smaller one"):
        inference.f_test((1.0, 2.0), (3.0, 3.0))
    assert "p = " in str(lk.anova(*groups))
