"""Probabilistic PCA and factor analysis: likelihood, posterior, expectation maximisation."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import decomposition

import likely as lk
from likely.core import InputError
from likely.latent.factors.rotations import orthomax

MODELS = {
    "closed": lambda k: lk.ProbabilisticPCA(k),
    "em": lambda k: lk.ProbabilisticPCA(k, method="em", tol=1e-13, max_iter=5000),
    "direct": lambda k: lk.FactorAnalysis(k),
    "factors by em": lambda k: lk.FactorAnalysis(k, method="em", tol=1e-6),
    "varimax": lambda k: lk.FactorAnalysis(k, rotation="varimax"),
    "promax": lambda k: lk.FactorAnalysis(k, rotation="promax"),
}


def rows(rng, n=200, d=7):
    noise = rng.uniform(0.3, 1.0, d) * rng.normal(size=(n, d))
    return 3 + rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + noise


@pytest.mark.parametrize("name", MODELS)
def test_log_prob_is_that_of_the_normal_distribution(name, rng):
    """To 1e-8, with W Wᵀ + ψ written out; and of what is there where values are missing."""
    X = rows(rng)
    model = MODELS[name](2).fit(X)
    A = model.get_covariance()
    expected = multivariate_normal(model.mean_, A).logpdf(X)
    np.testing.assert_allclose(model.log_prob(X), expected, rtol=0, atol=1e-8)
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    for x, found in zip(holes[:20], model.log_prob(holes[:20]), strict=True):
        own = ~np.isnan(x)
        if own.any():
            part = multivariate_normal(model.mean_[own], A[np.ix_(own, own)])
            assert found == pytest.approx(part.logpdf(x[own]), abs=1e-8)
    draws = model.sample(100_000, random_state=0)
    np.testing.assert_allclose(np.cov(draws.T), A, atol=0.1)


@pytest.mark.parametrize("name", MODELS)
def test_transform_is_the_posterior_mean(name, rng):
    X = rows(rng)
    model = MODELS[name](2).fit(X)
    L, prior = model.components_.T, np.eye(2)
    if name == "promax":
        prior = model.factor_correlation_
        np.testing.assert_allclose(np.diag(prior), 1)
        psi = np.diag(model.noise_variance_)
        np.testing.assert_allclose(L @ prior @ L.T + psi, model.get_covariance())
    gain = prior @ L.T @ np.linalg.inv(model.get_covariance())
    expected = (X - model.mean_) @ gain.T
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-6, atol=1e-8)
    back = model.mean_ + expected @ L.T
    np.testing.assert_allclose(model.inverse_transform(expected), back)


def test_the_posterior_of_z(rng):
    X = rows(rng)
    model = lk.ProbabilisticPCA(2).fit(X)
    X[0, 2:] = np.nan
    found = model.posterior(X[:3])
    np.testing.assert_allclose(found.mean, model.transform(X[:3]))
    W, s2 = model.components_.T, model.noise_variance_
    for i, own in ((0, slice(0, 2)), (1, slice(None))):
        M = np.eye(2) + W[own].T @ W[own] / s2
        np.testing.assert_allclose(found.covariance[i], np.linalg.inv(M), atol=1e-12)


def test_closed_form_and_em_agree(rng):
    X = rows(rng)
    closed, em = MODELS["closed"](2).fit(X), MODELS["em"](2).fit(X)
    assert em.n_iter_ > 5
    np.testing.assert_allclose(em.components_, closed.components_, atol=1e-4)
    np.testing.assert_allclose(em.noise_variance_, closed.noise_variance_, rtol=1e-6)
    assert closed.score(X) >= em.score(X) - 1e-12


@pytest.mark.parametrize("name", ["em", "factors by em", "direct"])
@pytest.mark.parametrize("missing", [False, True])
def test_the_likelihood_never_falls(name, missing, rng):
    X = rows(rng)
    if missing:
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = MODELS[name](2).fit(X)
    assert len(model.loglike_) > 3
    assert (np.diff(model.loglike_) >= -1e-12).all()
    assert model.score(X) == pytest.approx(model.loglike_[-1], abs=1e-6)


def test_factor_analysis_is_no_worse_than_scikit_learns(rng):
    X = rows(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = decomposition.FactorAnalysis(
            2, tol=1e-10, max_iter=20_000, rotation="varimax"
        ).fit(X)
    mine = lk.FactorAnalysis(2, rotation="varimax").fit(X)
    assert mine.score(X) >= other.score(X) - 1e-9
    np.testing.assert_allclose(mine.noise_variance_, other.noise_variance_, atol=1e-3)
    agree = np.abs(mine.components_ @ other.components_.T)
    norms = np.linalg.norm(mine.components_, axis=1)
    np.testing.assert_allclose(agree.max(1), norms**2, rtol=1e-2)


def test_expectation_maximisation_of_factors_goes_the_same_way(rng):
    X = rows(rng)
    direct = lk.FactorAnalysis(2).fit(X)
    em = lk.FactorAnalysis(2, method="em", tol=1e-10, max_iter=5000).fit(X)
    assert em.score(X) == pytest.approx(direct.score(X), abs=1e-5)
    assert direct.score(X) >= em.score(X)
    assert direct.n_iter_ < 50 < em.n_iter_


def test_units_of_columns_do_not_matter_to_factors(rng):
    X, units = rows(rng), 10.0 ** np.arange(-3, 4)
    a, b = lk.FactorAnalysis(2).fit(X), lk.FactorAnalysis(2).fit(X * units)
    np.testing.assert_allclose(
        b.components_, a.components_ * units, rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(b.transform(X * units), a.transform(X), atol=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_orthomax_is_a_maximum(gamma, rng):
    """No rotation of two factors by a small angle is better."""
    W = rng.normal(size=(9, 3))
    T = orthomax(W, gamma)
    np.testing.assert_allclose(T.T @ T, np.eye(3), atol=1e-12)

    def value(L):
        return (L**4).sum() - gamma / 9 * ((L**2).sum(0) ** 2).sum()

    for i, j in ((0, 1), (0, 2), (1, 2)):
        for angle in (-0.01, 0.01, 0.5):
            turn = np.eye(3)
            turn[[i, i, j, j], [i, j, i, j]] = (
                *(np.cos(angle), -np.sin(angle)),
                *(np.sin(angle), np.cos(angle)),
            )
            assert value(W @ T @ turn) < value(W @ T)


@pytest.mark.parametrize("make", [lk.ProbabilisticPCA, lk.FactorAnalysis])
def test_held_out_nats_find_the_number_of_factors(make, rng):
    X = rows(rng, 300)
    model = make().fit(X)
    found = model.held_out_nats_
    assert make is lk.ProbabilisticPCA or model.n_components_ == 2
    assert model.n_components_ == found.best
    w = rng.integers(0, 3, 300).astype(float)
    dirty = np.where(w[:, None] == 0, np.nan, X)
    weighted = make().fit(dirty, sample_weight=w)
    repeated = make().fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.log_prob(X), repeated.log_prob(X), rtol=1e-7)
    np.testing.assert_allclose(
        weighted.held_out_nats_.nats, repeated.held_out_nats_.nats, rtol=1e-7
    )


@pytest.mark.parametrize("make", [lk.ProbabilisticPCA, lk.FactorAnalysis])
def test_weights_where_values_are_missing(make, rng):
    X = rows(rng, 80)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    w = rng.integers(0, 3, 80).astype(float)
    dirty = np.where(w[:, None] == 0, 1e300, X)
    weighted = make(2).fit(dirty, sample_weight=w)
    repeated = make(2).fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.log_prob(X), repeated.log_prob(X), rtol=1e-6)


def test_degenerate_rows(rng):
    X = rows(rng, 30)
    X[:, 3] = 4.0
    X[:, 4] = X[:, 5]
    for make in (lk.ProbabilisticPCA, lk.FactorAnalysis):
        model = make(2).fit(X)
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.log_prob(X)).all()
        with pytest.raises(InputError, match="1 sample"):
            make(1).fit(X[:1])
        with pytest.raises(InputError, match="has no value"):
            make(1).fit(np.where(np.arange(7) == 2, np.nan, X))
        few = make().fit(X[:4])
        assert few.n_components_ == 1
    with pytest.raises(InputError, match="no density"):
        lk.ProbabilisticPCA(4).fit(X[:4])
    with pytest.raises(InputError, match="n_components"):
        lk.FactorAnalysis(None).fit(X)
