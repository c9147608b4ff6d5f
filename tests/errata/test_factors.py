"""Factor analysis and probabilistic PCA of the notes: numbers and misprints."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import likely as lk
from likely.latent.factors.principal_normal import principal_maximum


def covariance(rng):
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    return X, np.cov(X.T, bias=True)


def test_the_columns_of_w_are_stationary(rng):
    """W57, X004-37: S (s²I + WWᵀ)⁻¹ W = W for w_i = ρ_i u_i, s² the mean of the two smallest.

    Printed without s² it is not; and S W = W diag(λ), not diag(λ) W.
    """
    X, S = covariance(rng)
    model = lk.ProbabilisticPCA(2).fit(X)
    W, s2 = model.components_.T, model.noise_variance_
    values, vectors = np.linalg.eigh(S)
    assert s2 == pytest.approx(values[:2].mean())
    rho = np.sqrt(values[::-1][:2] - s2)
    np.testing.assert_allclose(np.abs(W), np.abs(vectors[:, ::-1][:, :2] * rho), 1e-9)
    A = s2 * np.eye(4) + W @ W.T
    size = np.abs(W).max()
    assert np.abs(S @ np.linalg.solve(A, W) - W).max() < 1e-13 * size
    gain = np.linalg.solve(A, W) - W / (s2 + rho**2)
    assert np.abs(gain).max() < 1e-13 * size
    np.testing.assert_allclose(S @ W, W * model.eigenvalues_, atol=1e-12)
    printed = S @ np.linalg.pinv(W @ W.T + W[:, :1]) @ W
    assert np.abs(printed - W).max() > 0.01


def test_the_determinant_has_a_plus(rng):
    """X004-36: ℓ = −(N/2)(Tr(S A⁻¹) + log det A) up to a constant; printed with a minus."""
    X, S = covariance(rng)
    model = lk.FactorAnalysis(1).fit(X)
    A, n = model.get_covariance(), len(X)
    constant = -0.5 * n * 4 * np.log(2 * np.pi)
    trace, log_det = np.trace(S @ np.linalg.inv(A)), np.linalg.slogdet(A)[1]
    expected = multivariate_normal(X.mean(0), A).logpdf(X).sum()
    assert n * model.score(X) == pytest.approx(expected, abs=1e-8)
    assert constant - 0.5 * n * (trace + log_det) == pytest.approx(expected, abs=1e-8)
    assert abs(constant - 0.5 * n * (trace - log_det) - expected) > 1


def test_as_the_noise_vanishes_it_is_pca(rng):
    """z tends to the principal components, divided by their standard deviations."""
    _, S = covariance(rng)
    normal = principal_maximum(S, 4)
    U, s, _ = np.linalg.svd(S)
    np.testing.assert_allclose(normal.variances, s, rtol=1e-9)
    thin = normal._replace(
        components=normal.components[:2], variances=s[:2], noise=1e-12
    )
    x = rng.normal(size=(5, 4))
    z = thin.low_rank.posterior_mean(x)
    np.testing.assert_allclose(z, x @ thin.components.T / np.sqrt(s[:2]), rtol=1e-5)
