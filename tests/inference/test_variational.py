"""Variational inference: exact cases, the identity of the ELBO, coordinate ascent, EM."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.inference import (
    GaussianApproximation,
    advi,
    coordinate_ascent,
    elbo_gradients,
    elbo_identity,
    mean_field_normal,
    normal_gamma,
    variational_em,
)
from likely.inference.mcmc.target import Layout

C = np.array([[1.0, 0.9, 0.1], [0.9, 2.0, 0.3], [0.1, 0.3, 0.5]])
P, MEAN = np.linalg.inv(C), np.array([1.0, -2.0, 3.0])
LOG_Z = 0.5 * np.linalg.slogdet(2 * np.pi * C)[1]


def normal(z):
    return -0.5 * (z - MEAN) @ P @ (z - MEAN)


@pytest.mark.parametrize(
    "shape",
    ["mean-field", pytest.param("low rank", marks=pytest.mark.slow),
     pytest.param("full rank", marks=pytest.mark.slow)],
)  # fmt: skip
def test_advi_of_a_normal_is_exact(shape):
    """Mean field has the variances 1/Λ_jj; the others have the whole covariance."""
    found = advi(normal, np.zeros(3), shape=shape)
    assert found.converged, found.status
    right = np.diag(1 / np.diagonal(P)) if shape == "mean-field" else C
    np.testing.assert_allclose(found.approximation.covariance, right, atol=2e-6)
    np.testing.assert_allclose(found.approximation.mean, MEAN, atol=1e-5)
    gap = 0.5 * (np.linalg.slogdet(P)[1] * -1 - np.linalg.slogdet(right)[1])
    assert abs(found.elbo - (LOG_Z - gap)) < 4 * found.elbo_error + 1e-6
    assert found.elbo < LOG_Z + 4 * found.elbo_error + 1e-6
    corrected = found.weighted
    assert abs(corrected.log_evidence - LOG_Z) < 5 * corrected.log_evidence_error + 1e-6
    if shape == "mean-field":
        narrow = found.approximation.std
        assert (narrow < 0.95 * np.sqrt(np.diagonal(C))).any()
        assert (corrected.std[1] - np.sqrt(2)) ** 2 < (narrow[1] - np.sqrt(2)) ** 2


def test_both_gradients_of_the_elbo_vanish_at_the_best_q():
    """Score function and reparameterisation agree, and the latter is less noisy."""
    layout, _ = Layout.of(np.zeros(3))
    q = GaussianApproximation(MEAN, np.diag(np.diagonal(P) ** -0.5), layout)
    found = elbo_gradients(normal, q, draws=2000)
    for estimates in (found.score_function, found.reparameterised):
        z = estimates["mean"].mean / estimates["mean"].standard_error
        assert np.abs(z).max() < 4.5
    assert found.variance_ratio["mean"] > 1.5


def test_mean_field_coordinate_ascent_of_a_normal():
    found = mean_field_normal(MEAN, P)
    np.testing.assert_allclose(found.mean, MEAN, atol=1e-6)
    np.testing.assert_allclose(found.variance, 1 / np.diagonal(P))
    assert (np.diff(found.elbo) >= -1e-12).all()
    log_dets = np.log(np.diagonal(P)).sum() - np.linalg.slogdet(P)[1]
    assert found.kl == pytest.approx(0.5 * log_dets, abs=1e-9)
    with pytest.raises(InputError, match="positive definite"):
        mean_field_normal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])


OBSERVED = np.array([0.3, 1.8, 2.2, -0.4, 1.0])


def test_normal_gamma_elbo_is_the_evidence_less_kl():
    """log p(x) is Student's t; the gap is KL(q, posterior), by quadrature."""
    found = normal_gamma(OBSERVED, mean=0.5, strength=2.0, shape=3.0, rate=1.5)
    n = len(OBSERVED)
    scale = 1.5 / 3 * (np.eye(n) + np.ones((n, n)) / 2)
    t = stats.multivariate_t(np.full(n, 0.5), scale, df=6)
    assert found.log_evidence == pytest.approx(t.logpdf(OBSERVED), abs=1e-10)
    assert (np.diff(found.elbo) >= -1e-12).all()
    m, k, a, b = found.posterior
    mu = np.linspace(-6, 8, 1501)[:, None]
    tau = np.linspace(1e-4, 25, 3001)[None]
    posterior = stats.gamma.logpdf(tau, a, scale=1 / b)
    posterior = posterior + stats.norm.logpdf(mu, m, 1 / np.sqrt(k * tau))
    q = stats.norm.logpdf(mu, found.mean, found.precision**-0.5)
    q = q + stats.gamma.logpdf(tau, found.shape, scale=1 / found.rate)
    cell = (mu[1, 0] - mu[0, 0]) * (tau[0, 1] - tau[0, 0])
    kl = (np.exp(q) * (q - posterior)).sum() * cell
    assert found.kl == pytest.approx(kl, abs=1e-4)


def test_normal_gamma_weights_are_counts():
    w = np.array([2.0, 1.0, 0.0, 1.0, 1.0])
    spoiled = np.where(w == 0, np.nan, OBSERVED)
    twice = normal_gamma(np.repeat(OBSERVED, w.astype(int)))
    assert normal_gamma(spoiled, w).elbo[-1] == pytest.approx(twice.elbo[-1])


def test_an_update_that_lowers_the_elbo_is_noticed():
    with pytest.raises(InputError, match="fell"):
        coordinate_ascent({"a": lambda f: f["a"] - 1}, {"a": 0.0}, lambda f: f["a"])
    with pytest.raises(InputError, match="no factor"):
        coordinate_ascent({"a": lambda f: 0.0}, {}, lambda f: 0.0)


def test_elbo_identity_by_enumeration():
    found = elbo_identity([0.2, 0.5, 0.3], [0.3, 0.3, 0.4], [0.7, 0.2, 0.05])
    assert found.log_evidence == pytest.approx(np.log(0.21 + 0.06 + 0.02))
    assert found.log_evidence == pytest.approx(found.elbo + found.kl)
    assert found.elbo == pytest.approx(found.reconstruction - found.kl_from_prior)
    exact = elbo_identity(found.posterior, [0.3, 0.3, 0.4], [0.7, 0.2, 0.05])
    assert exact.kl == pytest.approx(0, abs=1e-12)
    assert exact.elbo == pytest.approx(found.log_evidence)
    with pytest.raises(InputError, match="probabilities"):
        elbo_identity([0.5, 0.6], [0.5, 0.5], [0.1, 0.1])


DATA = np.random.default_rng(0).normal(2.0, np.sqrt(1 + 1.5**2), 60)


def random_effects(theta, z):
    """x_i ~ N(z_i, 1), z_i ~ N(m, e^{2s})."""
    prior = -0.5 * ((z - theta["m"]) / jnp.exp(theta["s"])) ** 2 - theta["s"]
    return (prior - 0.5 * (DATA - z) ** 2 - np.log(2 * np.pi)).sum()


def test_variational_em_is_em_where_the_family_holds_the_posterior():
    """The posterior factorises here, so mean field ends at the maximum of the likelihood."""
    found = variational_em(
        random_effects, {"m": 0.0, "s": 0.0}, np.zeros(60), tolerance=1e-9
    )
    assert found.converged
    assert (np.diff(found.elbo) >= -1e-9).all()
    assert found.parameters["m"] == pytest.approx(DATA.mean(), abs=1e-4)
    assert np.exp(2 * found.parameters["s"]) == pytest.approx(DATA.var() - 1, abs=2e-3)
    top = stats.norm.logpdf(DATA, DATA.mean(), DATA.std()).sum()
    assert found.elbo[-1] == pytest.approx(top, abs=1e-4)


def test_settings_are_refused_in_sentences():
    with pytest.raises(InputError, match="shape"):
        advi(normal, np.zeros(3), shape="banana")
    with pytest.raises(InputError, match="rank"):
        advi(normal, np.zeros(3), shape="low rank", rank=7)
    with pytest.raises(InputError, match="start"):
        advi(normal, np.full(3, np.nan))
    with pytest.raises(InputError, match="one number"):
        advi(lambda z: z, np.zeros(2))
