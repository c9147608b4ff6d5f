"""Coefficients, errors, statistics and likelihoods are statsmodels', on its data sets."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels import datasets

import likely as lk

FAMILIES = sm.families


def table(name: str, y: str, columns: list[str] | None = None, rows=slice(None)):
    frame = getattr(datasets, name).load_pandas().data.iloc[rows]
    X = frame[columns] if columns else frame.drop(columns=y)
    return X.to_numpy(float), frame[y].to_numpy(float)


LINEAR = {
    "stackloss": table("stackloss", "STACKLOSS"),
    "copper": table(
        "copper", "WORLDCONSUMPTION", ["COPPERPRICE", "INVENTORYINDEX", "ALUMPRICE"]
    ),
    "ccard": table("ccard", "AVGEXP", ["AGE", "INCOME", "OWNRENT"]),
    "engel": table("engel", "foodexp"),
    "grunfeld": table("grunfeld", "invest", ["value", "capital"]),
}
COUNTS = {
    "cpunish": table("cpunish", "EXECUTIONS", ["INCOME", "PERPOVERTY", "SOUTH"]),
    "randhie": table(
        "randhie", "mdvis", ["lncoins", "idp", "physlm", "disea"], slice(0, 900)
    ),
}
CLASSES = {
    "spector": table("spector", "GRADE"),
    "fair": table(
        "fair", "affairs", ["rate_marriage", "age", "yrs_married"], slice(0, 6300, 7)
    ),
}


def agree(found, peer, rtol=1e-8):
    np.testing.assert_allclose(found.coefficients, np.ravel(peer.params), rtol=rtol)
    np.testing.assert_allclose(found.standard_errors, np.ravel(peer.bse), rtol=rtol)
    statistics = np.ravel(peer.tvalues)
    np.testing.assert_allclose(found.statistics, statistics, rtol=rtol)
    np.testing.assert_allclose(
        found.p_values, np.ravel(peer.pvalues), rtol=1e-6, atol=1e-30
    )
    np.testing.assert_allclose(found.log_likelihood, peer.llf, rtol=rtol)
    np.testing.assert_allclose(
        found.intervals, np.reshape(peer.conf_int(), (-1, 2)), rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("name", LINEAR)
def test_least_squares(name):
    X, y = LINEAR[name]
    peer = sm.OLS(y, sm.add_constant(X)).fit(method="qr")
    found = lk.LinearRegression().fit(X, y).summary()
    agree(found, peer)
    e = found.estimate
    np.testing.assert_allclose(e.r_squared[1], peer.rsquared, rtol=1e-10)
    np.testing.assert_allclose(e.adjusted, peer.rsquared_adj, rtol=1e-10)
    np.testing.assert_allclose(e.f_test, (peer.fvalue, peer.f_pvalue), rtol=1e-6)
    np.testing.assert_allclose((e.aic, e.bic), (peer.aic, peer.bic), rtol=1e-10)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_errors(kind):
    X, y = LINEAR["ccard"]
    peer = sm.OLS(y, sm.add_constant(X)).fit(cov_type=kind)
    found = lk.LinearRegression().fit(X, y).summary(errors=kind)
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)


def test_robust_errors_of_counts():
    X, y = COUNTS["randhie"]
    peer = sm.GLM(y, sm.add_constant(X), family=FAMILIES.Poisson())
    peer = peer.fit(cov_type="HC0", tol=1e-14)
    found = lk.PoissonRegressor().fit(X, y).summary(errors="HC0")
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)


@pytest.mark.parametrize("name", COUNTS)
def test_poisson(name):
    X, y = COUNTS[name]
    peer = sm.GLM(y, sm.add_constant(X), family=FAMILIES.Poisson()).fit(tol=1e-14)
    found = lk.PoissonRegressor().fit(X, y).summary()
    agree(found, peer)
    null = found.estimate.null_log_likelihood
    np.testing.assert_allclose(null, peer.llnull, rtol=1e-8)


@pytest.mark.parametrize("name", CLASSES)
def test_logit(name):
    X, y = CLASSES[name]
    y = (y > 0).astype(int)
    peer = sm.Logit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14)
    found = lk.LogisticRegression().fit(X, y).summary()
    agree(found, peer)
    np.testing.assert_allclose(found.estimate.mcfadden, peer.prsquared, rtol=1e-8)
    np.testing.assert_allclose(
        found.estimate.likelihood_ratio, (peer.llr, peer.llr_pvalue), rtol=1e-6
    )


def test_multinomial_logit():
    X, y = table("anes96", "PID", ["logpopul", "selfLR", "age", "educ"])
    y = np.digitize(y, [2, 5])
    peer = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14)
    found = lk.LogisticRegression().fit(X, y).summary()
    np.testing.assert_allclose(found.coefficients, peer.params.T.ravel(), rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors, peer.bse.T.ravel(), rtol=1e-8)
    np.testing.assert_allclose(found.statistics, peer.tvalues.T.ravel(), rtol=1e-8)
    np.testing.assert_allclose(found.log_likelihood, peer.llf, rtol=1e-10)
    assert found.names[:2] == ("intercept [1]", "x0 [1]")


def test_gamma():
    X, y = table("scotland", "YES", ["COUTAX", "UNEMPF", "ACT", "GDP", "AGE"])
    family = FAMILIES.Gamma(FAMILIES.links.Log())
    model = sm.GLM(y, sm.add_constant(X), family=family)
    ours = lk.GammaRegressor().fit(X, y)
    found, peer = ours.summary(), model.fit(tol=1e-14)
    np.testing.assert_allclose(found.coefficients, peer.params, rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)
    np.testing.assert_allclose(found.statistics, peer.tvalues, rtol=1e-8)
    same_shape = model.fit(tol=1e-14, scale=1 / ours.concentration_)
    np.testing.assert_allclose(found.log_likelihood, same_shape.llf, rtol=1e-8)
    for factor in (0.99, 1.01):  # the shape is of maximum likelihood
        other = model.fit(tol=1e-14, scale=factor / ours.concentration_)
        assert other.llf < found.log_likelihood


def test_negative_binomial():
    X, y = COUNTS["randhie"]
    peer = sm.NegativeBinomial(y, sm.add_constant(X)).fit(
        disp=0, method="bfgs", maxiter=1000, gtol=1e-8
    )
    found = lk.NegativeBinomialRegressor().fit(X, y).summary()
    agree(found, peer, rtol=1e-5)
    assert found.names[-1] == "dispersion 1/r"


def test_exposure_is_an_offset():
    X, y = COUNTS["randhie"]
    e = np.random.default_rng(0).uniform(0.5, 2, len(y))
    A = sm.add_constant(X)
    peer = sm.GLM(y, A, family=FAMILIES.Poisson(), exposure=e).fit(tol=1e-14)
    model = lk.PoissonRegressor().fit(X, y, exposure=e)
    agree(model.summary(), peer)
    np.testing.assert_allclose(
        model.predict(X[:5], exposure=e[:5]), peer.predict(A, exposure=e)[:5]
    )
    same = lk.PoissonRegressor().fit(X, y, offset=np.log(e))
    np.testing.assert_array_equal(same.coef_, model.coef_)
    null = model.summary().estimate.null_log_likelihood
    np.testing.assert_allclose(null, peer.llnull, rtol=1e-8)


def test_weights_are_frequencies(rng):
    X, y = COUNTS["randhie"]
    w = rng.integers(0, 4, len(y)).astype(float)
    keep = w > 0
    A = sm.add_constant(X[keep])
    garbage = np.where(keep[:, None], X, np.nan)
    for ours, family in (
        (lk.PoissonRegressor(), FAMILIES.Poisson()),
        (lk.LinearRegression(), FAMILIES.Gaussian()),
    ):
        peer = sm.GLM(y[keep], A, family=family, freq_weights=w[keep]).fit(tol=1e-14)
        found = ours.fit(garbage, y, sample_weight=w).summary()
        np.testing.assert_allclose(found.coefficients, peer.params, rtol=1e-8)
        np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)
        np.testing.assert_allclose(found.log_likelihood, peer.llf, rtol=1e-8)
        assert found.estimate.df_residual == peer.df_resid


def test_median_regression():
    X, y = LINEAR["engel"]
    peer = sm.QuantReg(y, sm.add_constant(X)).fit(p_tol=1e-8, max_iter=250)
    found = lk.LADRegressor().fit(X, y).summary()
    np.testing.assert_allclose(found.coefficients, peer.params, rtol=1e-6)
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-5)


def test_prediction_intervals_are_exact():
    X, y = LINEAR["stackloss"]
    peer = sm.OLS(y, sm.add_constant(X)).fit()
    ends = peer.get_prediction(sm.add_constant(X)).conf_int(obs=True, alpha=0.1)
    low, high = lk.LinearRegression().fit(X, y).predict_interval(X)
    np.testing.assert_allclose(np.stack([low, high], 1), ends, rtol=1e-8)
