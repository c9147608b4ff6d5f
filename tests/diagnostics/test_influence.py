"""Rows that are left out of a fit: formulas beside statsmodels and beside true refits."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn import linear_model
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.stats.outliers_influence import OLSInfluence

import likely as lk
from likely.core import InputError
from likely.diagnostics import influence

N = 60


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=N)
    y[3] += 6
    return X, y


def equals_ols(found, X, y):
    known = OLSInfluence(sm.OLS(y, sm.add_constant(X)).fit())
    pairs = (
        (found.leverage, known.hat_matrix_diag),
        (found.cooks, known.cooks_distance[0]),
        (found.dfbetas, known.dfbetas),
        (found.dffits, known.dffits[0]),
        (found.internal, known.resid_studentized_internal),
        (found.studentized, known.resid_studentized_external),
    )
    for own, other in pairs:
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cls", [lk.LinearRegression, linear_model.LinearRegression])
def test_least_squares_are_statsmodels(cls, rows):
    X, y = rows
    found = influence(cls().fit(X, y), X, y)
    assert found.method == "exact"
    equals_ols(found, X, y)
    assert found.rows[found.order[0]] == 3
    assert "row 3" in found.verdict
    outlier = 2 * sm.stats.stattools.stats.t.sf(abs(found.studentized[3]), N - 5)
    assert found.p_outlier[3] == pytest.approx(outlier)


def test_a_row_of_weight_zero_is_absent_and_weights_are_the_row_again(rows):
    X, y = (a.copy() for a in rows)
    w = np.ones(N)
    w[5], X[5], y[5] = 0, np.nan, np.nan
    found = influence(lk.LinearRegression().fit(X, y, w), X, y, sample_weight=w)
    here = np.delete(np.arange(N), 5)
    plain = influence(lk.LinearRegression().fit(X[here], y[here]), X[here], y[here])
    np.testing.assert_allclose(found.cooks[here], plain.cooks, rtol=1e-9)
    assert found.cooks[5] == found.own[5] == 0
    w[2] = 2  # without it both copies are gone
    model = lk.LinearRegression().fit(X, y, w)
    found = influence(model, X, y, sample_weight=w)
    without = lk.LinearRegression().fit(X, y, w * (np.arange(N) != 2))
    both = np.r_[here, 2]
    twice = OLSInfluence(sm.OLS(y[both], sm.add_constant(X[both])).fit())
    moved = np.r_[model.intercept_ - without.intercept_, model.coef_ - without.coef_]
    s = np.sqrt(np.diag(np.linalg.inv(twice.exog.T @ twice.exog)))
    rest = np.delete(both, np.flatnonzero(both == 2))
    r = y[rest] - without.predict(X[rest])
    unit = np.sqrt(r @ r / (len(rest) - 4))
    np.testing.assert_allclose(found.dfbetas[2], moved / (s * unit), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_ridge_is_exact_for_a_given_penalty(alpha, rows):
    X, y = rows
    model = linear_model.Ridge(alpha).fit(X, y)
    found = influence(model, X, y, on=(X[:20], y[:20]))
    ours = influence(lk.Ridge(alpha).fit(X, y), X, y)
    np.testing.assert_allclose(found.dfbetas, ours.dfbetas, rtol=1e-8)
    i = 3
    here = np.arange(N) != i
    without = linear_model.Ridge(alpha).fit(X[here], y[here])
    fitted, left = (m.predict(X) - y for m in (model, without))
    scale = 2 * (y @ y) / (y @ y)  # losses are ½ r²/s²
    ratio = (left[i] ** 2 - fitted[i] ** 2) / scale
    other = ((left**2 - fitted**2) / scale)[:20].mean()
    assert found.own[i] / found.held_out[i] == pytest.approx(ratio / other, rel=1e-8)
    assert (found.held_out_error > 0).all()


def test_likelihoods_take_one_step_as_statsmodels_does(rows):
    X, _ = rows
    rng = np.random.default_rng(1)
    y = rng.poisson(np.exp(0.4 * X[:, 0] + 0.5))
    found = influence(lk.PoissonRegressor().fit(X, y), X, y)
    family = sm.families.Poisson()
    fit = sm.GLM(y, sm.add_constant(X), family=family).fit(tol=1e-12)
    known = fit.get_influence(observed=False)
    assert found.method == "one step"
    np.testing.assert_allclose(found.leverage, known.hat_matrix_diag, rtol=1e-8)
    np.testing.assert_allclose(found.cooks, known.cooks_distance[0], rtol=1e-6)
    np.testing.assert_allclose(found.dfbetas, known.dfbetas, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.internal, known.resid_studentized, rtol=1e-7)


@pytest.mark.slow
def test_full_refits_are_one_program_and_near_the_step(rows):
    X, y = rows
    classes = np.where(y > 0, "up", "down")
    model = lk.LogisticRegression(alpha=2.0).fit(X, classes)
    step = influence(model, X, classes)
    truth = influence(model, X, classes, method="refit")
    moved = []
    for i in (7, 9):
        here = np.arange(N) != i
        alone = lk.LogisticRegression(alpha=2.0).fit(X[here], classes[here])
        moved.append((model.coef_ - alone.coef_)[0])
    ratio = truth.dfbetas[7, 1:] / truth.dfbetas[9, 1:]
    np.testing.assert_allclose(ratio, moved[0] / moved[1], rtol=1e-5)
    assert np.corrcoef(step.dfbetas.ravel(), truth.dfbetas.ravel())[0, 1] > 0.98
    assert np.corrcoef(step.own, truth.own)[0, 1] > 0.99
    scikit = linear_model.LogisticRegression(C=0.5, tol=1e-10).fit(X, classes)
    np.testing.assert_allclose(
        influence(scikit, X, classes).cooks, step.cooks, rtol=1e-4
    )


def test_several_classes_and_dependent_columns_have_finite_measures(rows):
    X, y = rows
    classes = np.digitize(y, [-1, 1])
    model = linear_model.LogisticRegression(tol=1e-9).fit(X, classes)
    found = influence(model, X, classes)
    assert found.dfbetas.shape == (N, 12)
    assert np.isfinite(found.dfbetas).all()
    assert found.leverage.sum() < 12 - 3
    both = np.c_[X, X[:, 0] + X[:, 1]]
    model = linear_model.LinearRegression().fit(both, y)
    once = influence(linear_model.LinearRegression().fit(X, y), X, y)
    np.testing.assert_allclose(influence(model, both, y).cooks, once.cooks, rtol=1e-6)


def test_a_row_that_alone_has_a_column(rows):
    X, y = rows
    only = np.c_[X, np.arange(N) == 8]
    found = influence(linear_model.LinearRegression().fit(only, y), only, y)
    assert found.cooks[8] == np.inf
    assert "Row 8 alone determines" in found.verdict


def test_pipelines_and_other_predictors(rows):
    X, y = rows
    pipe = make_pipeline(StandardScaler(), linear_model.LinearRegression()).fit(X, y)
    plain = linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(
        influence(pipe, X, y).cooks, influence(plain, X, y).cooks, rtol=1e-8
    )
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="refit"):
        influence(forest, X, y)
    found = influence(forest, X, y, method="refit", rows=[3, 4], on=(X[:9], y[:9]))
    assert found.own[0] > found.own[1]
    assert found.cooks is None
    assert "Row 3" in found.verdict


def test_rows_that_are_not_those_of_the_fit(rows):
    X, y = rows
    model = linear_model.LinearRegression().fit(X, y)
    with pytest.raises(InputError, match="give the X"):
        influence(model, X, y + X[:, 0])
    few = slice(X.shape[1] + 1)
    exact = linear_model.LinearRegression().fit(X[few], y[few])
    with pytest.raises(InputError, match="fits all rows exactly"):
        influence(exact, X[few], y[few])
    for rows_, sentence in (([99], "60 rows"), (["a"], "numbers of rows")):
        with pytest.raises(InputError, match=sentence):
            influence(model, X, y, rows=rows_)


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_gradients_of_a_network_agree_with_true_refits(large, monkeypatch):
    """All parameters of a small one; of a large one the last layer, and CG for others."""
    from likely.diagnostics.influence import networks

    if large:
        monkeypatch.setattr(networks, "MAX_DENSE_PARAMETERS", 0)
    rng = np.random.default_rng(0)

    def made(n):
        X = rng.normal(size=(n, 3))
        return X, (np.sin(X[:, 0]) + 0.5 * X[:, 1] + rng.normal(size=n) > 0).astype(int)

    X, y = made(80)
    options = {"solver": "lbfgs", "max_iter": 3000, "early_stopping": False}
    model = lk.MLPClassifier(
        (8,), "tanh", alpha=3.0, n_members=1, **options
    ).fit(X, y)  # fmt: skip
    rows, on = np.arange(0, 80, 4), made(300)
    truth = influence(model, X, y, on=on, method="refit", rows=rows)
    found = influence(model, X, y, on=on, rows=rows)
    assert found.method == "gradients"
    assert np.corrcoef(found.own, truth.own)[0, 1] > (0.85 if large else 0.95)
    assert np.corrcoef(found.held_out, truth.held_out)[0, 1] > 0.9
    found.plot()
