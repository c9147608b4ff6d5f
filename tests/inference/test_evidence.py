"""Evidence: closed forms against quadrature and enumeration, approximations against both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from likely.core.checks import InputError
from likely.inference import (
    BetaBernoulli,
    DirichletMultinomial,
    GammaPoisson,
    GaussianApproximation,
    NormalLinearModel,
    importance_sampling,
    laplace,
    nested_sampling,
)

FLIPS = np.array([0, 1, 1, 1, 0, 1, 1])
COUNTS = np.array([3, 0, 2, 5, 1])
RNG = np.random.default_rng(0)
X = np.c_[np.ones(12), RNG.normal(size=(12, 1))]
Y = X @ [1.0, 2.0] + RNG.normal(size=12)


def quad(f, low, high):
    return np.log(integrate.quad(f, low, high, epsabs=0, epsrel=1e-11)[0])


def test_beta_bernoulli_is_the_integral():
    def joint(p):
        return stats.beta.pdf(p, 2, 3) * stats.bernoulli.pmf(FLIPS, p).prod()

    found = BetaBernoulli(2, 3).log_evidence(FLIPS)
    assert found == pytest.approx(quad(joint, 0, 1), abs=1e-10)
    assert BetaBernoulli(2, 3).update(FLIPS).predictive == pytest.approx(7 / 12)


def test_gamma_poisson_is_the_integral():
    def joint(rate):
        return (
            stats.gamma.pdf(rate, 2, scale=1 / 3)
            * stats.poisson.pmf(COUNTS, rate).prod()
        )

    found = GammaPoisson(2, 3).log_evidence(COUNTS)
    assert found == pytest.approx(quad(joint, 0, 30), abs=1e-9)
    r, p = GammaPoisson(2, 3).predictive
    assert GammaPoisson(2, 3).log_evidence([4]) == pytest.approx(
        stats.nbinom.logpmf(4, r, p)
    )


def test_dirichlet_multinomial_sums_to_one():
    model = DirichletMultinomial([0.5, 1.0, 2.0])
    every = [model.log_evidence(y) for y in np.ndindex(3, 3, 3)]
    assert np.exp(every).sum() == pytest.approx(1)
    two = DirichletMultinomial([2.0, 3.0]).log_evidence(1 - FLIPS)
    assert two == pytest.approx(BetaBernoulli(2, 3).log_evidence(FLIPS))


def test_normal_linear_evidence_is_that_of_the_marginal():
    """y ~ N(Xm, σ²I + XΛ⁻¹Xᵀ), or Student's t where σ is not known."""
    prior = np.array([[2.0, 0.3], [0.3, 1.0]])
    mean = np.array([0.5, -1.0])
    C = X @ np.linalg.inv(prior) @ X.T
    known = NormalLinearModel(mean, prior, scale=0.8)
    right = stats.multivariate_normal(X @ mean, 0.64 * np.eye(12) + C).logpdf(Y)
    assert known.log_evidence((X, Y)) == pytest.approx(right, abs=1e-9)
    unknown = NormalLinearModel(mean, prior, None, 3.0, 2.0)
    t = stats.multivariate_t(X @ mean, 2 / 3 * (np.eye(12) + C), df=6)
    assert unknown.log_evidence((X, Y)) == pytest.approx(t.logpdf(Y), abs=1e-9)


MODELS = {
    "beta": (BetaBernoulli(2, 3), FLIPS),
    "gamma": (GammaPoisson(2, 3), COUNTS),
    "dirichlet": (DirichletMultinomial([1.0, 2.0]), FLIPS),
}


@pytest.mark.parametrize("name", MODELS)
def test_evidence_is_a_product_and_weights_are_counts(name):
    """p(y₁, y₂) = p(y₁) p(y₂ | y₁); w = 2 is the row twice; w = 0 is absent."""
    model, y = MODELS[name]
    parts = model.log_evidence(y[:3]) + model.update(y[:3]).log_evidence(y[3:])
    assert model.log_evidence(y) == pytest.approx(parts)
    w = np.array([2.0, 0.0, 1.0])
    twice = model.log_evidence(np.r_[y[0], y[0], y[2]])
    spoiled = np.array([y[0], np.nan, y[2]])
    assert model.log_evidence(spoiled, w) == pytest.approx(twice)


def test_normal_linear_weights_are_counts():
    model = NormalLinearModel(np.zeros(2), np.eye(2), None, 2.0, 1.0)
    w = np.r_[2.0, 0.0, np.ones(10)]
    spoiled = np.where(w[:, None] == 0, np.nan, X), np.where(w == 0, np.nan, Y)
    rows = np.repeat(np.arange(12), w.astype(int))
    twice = model.log_evidence((X[rows], Y[rows]))
    assert model.log_evidence(spoiled, w) == pytest.approx(twice)


def joint(t):
    """log p(y, b, log τ) of the normal linear model with unknown precision τ."""
    b, u = t["b"], t["u"]
    tau, r = jnp.exp(u), Y - X @ b
    normal = 0.5 * (14 * (u - np.log(2 * np.pi)) - tau * (r @ r + b @ b))
    return normal + 2 * u + 2 * np.log(1.0) - jnp.log(1.0) - tau  # Gamma(2, 1), |dτ/du|


def test_laplace_and_importance_sampling_come_close():
    exact = NormalLinearModel(np.zeros(2), np.eye(2), None, 2.0, 1.0).log_evidence(
        (X, Y)
    )
    found = laplace(joint, {"b": np.zeros(2), "u": 0.0})
    assert abs(found.log_evidence - exact) < 0.15
    weighted = importance_sampling(joint, found.approximation, draws=8000)
    assert weighted.believable, weighted.verdict
    off = abs(weighted.log_evidence - exact)
    assert off < 4 * weighted.log_evidence_error < 0.2
    assert set(found.mode) == {"b", "u"}


def test_laplace_is_exact_for_a_normal():
    C = np.array([[1.0, 0.9], [0.9, 2.0]])
    P, mean = np.linalg.inv(C), np.array([3.0, -1.0])
    found = laplace(lambda z: -0.5 * (z - mean) @ P @ (z - mean), np.zeros(2))
    np.testing.assert_allclose(found.approximation.covariance, C, rtol=1e-9)
    np.testing.assert_allclose(found.approximation.mean, mean, atol=1e-9)
    right = 0.5 * np.linalg.slogdet(2 * np.pi * C)[1]
    assert found.log_evidence == pytest.approx(right, abs=1e-10)


def test_an_improper_density_is_refused():
    with pytest.raises(InputError, match="improper"):
        laplace(lambda z: -0.5 * z[0] ** 2 + 0.0 * z[1], np.zeros(2))
    with pytest.raises(InputError, match="not a number"):
        laplace(lambda z: jnp.log(z[0]), np.array([-1.0]))


def test_a_narrow_proposal_is_not_believed():
    """Draws of N(0, ¼) weighted as draws of a Cauchy: k̂ says no."""
    q = laplace(lambda z: -2.0 * z**2, 0.0).approximation
    found = importance_sampling(lambda z: -jnp.log1p(z**2), q)
    assert not found.believable
    assert "Do not believe" in found.verdict
    wide = GaussianApproximation(np.zeros(1), 3 * np.eye(1), q.layout)
    assert importance_sampling(lambda z: -0.5 * z**2, wide).believable


@pytest.mark.slow
def test_nested_sampling_within_its_error():
    exact = BetaBernoulli(1, 1).log_evidence(FLIPS)

    def log_likelihood(p):
        return 5 * jnp.log(p) + 2 * jnp.log1p(-p)

    found = nested_sampling(log_likelihood, lambda u: u[0], 1, live=300)
    assert found.believable
    assert abs(found.log_evidence - exact) < 3.5 * found.error < 0.3
    p = found.points[:, 0]
    mean = np.exp(found.log_weights) @ p
    assert mean == pytest.approx(6 / 9, abs=0.05)
    again = nested_sampling(log_likelihood, lambda u: u[0], 1, live=300)
    assert again.log_evidence == found.log_evidence


@pytest.mark.slow
def test_nested_sampling_has_the_error_it_states():
    """Over ten seeds the mean is the exact evidence of a linear model, with the error √(H/n)."""
    exact = NormalLinearModel(np.zeros(2), np.eye(2), scale=1.0).log_evidence((X, Y))

    def log_likelihood(b):
        r = Y - X @ b
        return -0.5 * r @ r - 6 * jnp.log(2 * jnp.pi)

    def prior(u):
        return jax.scipy.special.ndtri(u)

    runs = [
        nested_sampling(log_likelihood, prior, 2, random_state=s) for s in range(10)
    ]
    z = np.array([(run.log_evidence - exact) / run.error for run in runs])
    assert abs(z.mean()) < 1.3
    assert 0.3 < z.std() < 2.0


def test_settings_are_refused_in_sentences():
    with pytest.raises(InputError, match="0 or 1"):
        BetaBernoulli().log_evidence([0, 2])
    with pytest.raises(InputError, match="counts"):
        GammaPoisson().log_evidence([0.5])
    with pytest.raises(InputError, match="classes"):
        DirichletMultinomial([1.0, 1.0]).update([2])
    with pytest.raises(InputError, match="shape"):
        NormalLinearModel(np.zeros(3), np.eye(3)).log_evidence((X, Y))
    with pytest.raises(InputError, match="live"):
        nested_sampling(lambda p: p, lambda u: u[0], 1, live=3)
