import numpy as np
import pytest
from scipy import stats
from sklearn import datasets, linear_model

import likely as lk
from likely.core import InputError
from likely.estimators.linear.inference.collinearity import CollinearityWarning


@pytest.fixture(scope="module")
def diabetes():
    return datasets.load_diabetes(return_X_y=True)


def test_ols_equals_the_normal_equations_and_scikit_learn(diabetes):
    X, y = diabetes
    ours = lk.LinearRegression().fit(X, y)
    A = np.c_[X, np.ones(len(X))]
    theta = np.linalg.solve(A.T @ A, A.T @ y)
    np.testing.assert_allclose(np.r_[ours.coef_, ours.intercept_], theta, rtol=1e-8)
    peer = linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-10)
    residual = y - peer.predict(X)
    np.testing.assert_allclose(ours.scale_, np.sqrt(np.mean(residual**2)), rtol=1e-10)


def test_the_bias_is_a_column_of_ones(diabetes):
    X, y = diabetes
    with_bias = lk.LinearRegression().fit(X, y)
    appended = lk.LinearRegression(fit_intercept=False).fit(
        np.c_[X, np.ones(len(X))], y
    )
    np.testing.assert_allclose(appended.coef_[-1], with_bias.intercept_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_ridge_closed_form(alpha, diabetes):
    X, y = diabetes
    ours = lk.Ridge(alpha).fit(X, y)
    Xc, yc = X - X.mean(0), y - y.mean()
    closed = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(10), Xc.T @ yc)
    np.testing.assert_allclose(ours.coef_, closed, rtol=1e-9)
    peer = linear_model.Ridge(alpha).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-10)


def test_ridge_objectives_that_do_not_have_the_closed_form(diabetes):
    """Two printed objectives need nλ/4 and 2nλ where the notes print λ."""
    X, y = diabetes
    X, y, lam, n = X[:30, :4], y[:30] - y[:30].mean(), 0.5, 30

    def closed(strength):
        return np.linalg.solve(X.T @ X + strength * np.eye(4), X.T @ y)

    def slope(w, data, penalty):
        return data * 2 * X.T @ (X @ w - y) + penalty * 2 * w

    printed = closed(lam)
    assert np.abs(slope(printed, 2 / n, lam / 2)).max() > 1e-3
    np.testing.assert_allclose(slope(closed(n * lam / 4), 2 / n, lam / 2), 0, atol=1e-9)
    assert np.abs(slope(printed, 1 / (2 * n), lam)).max() > 1e-3
    np.testing.assert_allclose(
        slope(closed(2 * n * lam), 1 / (2 * n), lam), 0, atol=1e-9
    )
    ours = lk.Ridge(lam, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(slope(ours.coef_, 1, lam), 0, atol=1e-9)


def test_singular_design_gives_the_solution_of_least_norm(diabetes):
    X, y = diabetes
    doubled = np.c_[X, X[:, :2]]
    with pytest.warns(CollinearityWarning, match="column 10 is .* of column 0"):
        ours = lk.LinearRegression().fit(doubled, y)
    peer = linear_model.LinearRegression().fit(doubled, y)
    np.testing.assert_allclose(ours.predict(doubled), peer.predict(doubled), rtol=1e-7)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X.assign(total=X["age"] + X["bmi"]), "'age'.*'bmi'|'total'"),
        (lambda X: X.assign(same=3.0), "'same' is constant"),
    ],
)
def test_dependent_columns_are_named(change, words):
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True)
    with pytest.warns(CollinearityWarning, match=words):
        lk.LinearRegression().fit(change(X[["age", "sex", "bmi"]]), y)


def test_predictive_distribution_and_interval(diabetes):
    X, y = diabetes
    model = lk.LinearRegression().fit(X, y)
    low, high = model.predict_interval(X, coverage=0.9)
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.94
    A = np.column_stack([np.ones(len(X)), X])
    n, p = A.shape
    r = y - model.predict(X)
    leverage = np.einsum("ij,jk,ik->i", A, np.linalg.inv(A.T @ A), A)
    peer = stats.t(n - p, scale=np.sqrt(r @ r / (n - p) * (1 + leverage)))
    np.testing.assert_allclose(model.nll(X, y), -peer.logpdf(r).mean(), rtol=1e-10)
    z = r / model.scale_
    nll = np.mean(0.5 * z**2) + np.log(model.scale_) + 0.5 * np.log(2 * np.pi)
    plain = model.predict_dist(X, uncertainty="none")
    np.testing.assert_allclose(-plain.log_prob(y).mean(), nll, rtol=1e-12)


def test_weights_and_absent_garbage(diabetes, rng):
    X, y = (a[:80] for a in diabetes)
    w = rng.integers(0, 3, size=80)
    rows = np.repeat(np.arange(80), w)
    for make in (lk.LinearRegression, lk.Ridge):
        weighted = make().fit(X, y, sample_weight=w)
        repeated = make().fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
        X2, y2 = X.copy(), y.copy()
        X2[w == 0], y2[w == 0] = np.nan, np.inf
        dirty = make().fit(X2, y2, sample_weight=w)
        np.testing.assert_array_equal(dirty.coef_, weighted.coef_)


def test_settings_get_sentences(diabetes):
    with pytest.raises(InputError, match="alpha is -1"):
        lk.Ridge(-1.0).fit(*diabetes)
    with pytest.raises(InputError, match="not numbers"):
        lk.Ridge().fit(np.ones((3, 1)), ["a", "b", "c"])
