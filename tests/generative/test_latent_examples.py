"""Codes and posteriors written by hand: the worked examples, with everything by formula."""

import numpy as np
import pytest
from scipy import stats

import likely as lk
from likely.core import InputError

rng = np.random.default_rng(0)


def test_worked_codes_are_lossless_and_lossy():
    """(a, a, b) through two numbers and through one: W8."""
    row = np.array([[0.3, 0.3, -0.5]])
    two = lk.LinearCode([[1, 0, 0], [0, 0, 1]], [[1, 0], [1, 0], [0, 1]])
    one = lk.LinearCode([[1, 0, 0]], [[1], [1], [1]])
    assert two.transform(row).tolist() == [[0.3, -0.5]]
    assert two.reconstruct(row).tolist() == row.tolist()
    assert two.is_lossless(row)
    assert one.reconstruct(row).tolist() == [[0.3, 0.3, 0.3]]
    np.testing.assert_allclose(one.squared_errors(row), 0.64)
    a, b = rng.normal(size=(2, 50))
    rows = np.c_[a, a, b]
    assert two.is_lossless(rows)
    assert not one.is_lossless(rows)
    np.testing.assert_allclose(one.squared_errors(rows), (a - b) ** 2)
    assert not two.is_lossless(rng.normal(size=(5, 3)))
    with pytest.raises(InputError, match="shapes"):
        lk.LinearCode([[1, 0]], [[1, 0]])


def handmade(s: float = 0.5, **encoder) -> lk.LinearGaussianVAE:
    """X1 ~ N(1, 2), X3 ~ N(−1, 1), X2 = X1 + N(0, 1), with noise s² on X1 and X3."""
    return lk.LinearGaussianVAE(
        weight=[[1, 0], [1, 0], [0, 1]],
        noise=[s**2, 1, s**2],
        prior_mean=[1, -1],
        prior_spread=[2, 1],
        **encoder,
    )


def test_the_handmade_model_has_the_worked_moments():
    """As the noise vanishes: μ = (1, 1, −1), Σ = [[2, 2, 0], [2, 3, 0], [0, 0, 1]] (W7)."""
    model = handmade(s=1e-6)
    np.testing.assert_allclose(model.mean, [1, 1, -1])
    np.testing.assert_allclose(
        model.covariance, [[2, 2, 0], [2, 3, 0], [0, 0, 1]], atol=1e-9
    )
    X = handmade().sample(200_000, random_state=0)
    np.testing.assert_allclose(X.mean(0), [1, 1, -1], atol=0.02)
    np.testing.assert_allclose(np.cov(X.T), handmade().covariance, atol=0.04)


def test_the_gap_of_the_bound_is_a_divergence():
    """The encoder of the notes, ((x1, x3), s² I), against the posterior."""
    s = 0.5
    model = handmade(s, encoder=[[1, 0, 0], [0, 0, 1]], spread=[s**2, s**2])
    X = model.sample(20, random_state=1)
    exact = stats.multivariate_normal(model.mean, model.covariance).logpdf(X)
    np.testing.assert_allclose(model.log_prob(X), exact)
    assert (model.elbo(X) < exact - 0.01).all()
    np.testing.assert_allclose(exact - model.elbo(X), model.gap(X), rtol=1e-9)
    best = model.with_posterior()
    np.testing.assert_allclose(best.elbo(X), exact, rtol=1e-10)
    np.testing.assert_allclose(best.gap(X), 0, atol=1e-12)
    np.testing.assert_allclose(handmade(s).elbo(X), exact, rtol=1e-10)
    # the bound by draws of q, the way a VAE estimates it
    mean = X @ np.asarray(model.encoder).T
    Z = mean + s * rng.normal(size=(40_000, *mean.shape))
    log_p = stats.norm(Z @ np.asarray(model.weight).T, [s, 1, s]).logpdf(X).sum(-1)
    prior = stats.norm([1, -1], np.sqrt([2, 1])).logpdf(Z).sum(-1)
    log_q = stats.norm(mean, s).logpdf(Z).sum(-1)
    np.testing.assert_allclose(
        (log_p + prior - log_q).mean(0), model.elbo(X), atol=0.08
    )


def test_bad_parts_of_a_handmade_model_are_refused():
    with pytest.raises(InputError, match="positive definite"):
        handmade(s=0.0)
    with pytest.raises(InputError, match="encoder has shape"):
        handmade(encoder=[[1, 0]])
    with pytest.raises(InputError, match="3 numbers"):
        lk.LinearGaussianVAE([[1], [1], [1]], [1, 1, 1], offset=[0, 0])


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_a_normal_is_pushed_to_a_ring(alpha):
    """‖g(z)‖ = 1 + ‖z‖/α exactly: W52."""
    Z = rng.normal(size=(500, 2))
    found = np.linalg.norm(lk.gaussian_ring(Z, alpha), axis=1)
    np.testing.assert_allclose(found, 1 + np.linalg.norm(Z, axis=1) / alpha, rtol=1e-14)
    with pytest.raises(InputError, match="no direction"):
        lk.gaussian_ring(np.zeros((1, 2)))
