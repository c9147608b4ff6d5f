"""Numbers worked out in the lecture notes, corrected where they are printed wrong."""

import math

import numpy as np
import pytest
from scipy import integrate

from likely.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Huber,
    Laplace,
    Multinomial,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    in_simplex,
    softmax,
)


def log_prob(family, eta, y) -> np.ndarray:
    eta = np.atleast_2d(eta)
    return Predictive(family, eta).log_prob(y)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def test_binomial_tends_to_poisson():
    """Bin(1000, 0.003) and Poi(3) at 2 (W21)."""
    binomial = np.exp(log_prob(Binomial(1000), [logit(0.003)], 2))[0]
    poisson = np.exp(log_prob(Poisson(), [math.log(3)], 2))[0]
    assert (round(binomial, 6), round(poisson, 6)) == (0.224154, 0.224042)


def test_multinomial_coefficient():
    """7!/(2! 3! 2!) = 210, whose first factor is 7!/(2! 5!) = 21 (W22, X000-30)."""
    p = np.exp(log_prob(Multinomial(7, 3), [0.0, 0.0, 0.0], [2, 3, 2]))[0]
    assert p * 3**7 == pytest.approx(210, rel=1e-12)
    assert math.comb(7, 2) * math.comb(5, 3) * math.comb(2, 2) == 210
    assert math.comb(7, 2) == 21


def test_laplace_prior_of_a_penalty():
    """Penalty λ|t| has b = 1/λ and variance 2/λ², at λ = 2: 0.5 (W23, X000-12)."""
    prior = Predictive(Laplace(1 / 2), np.zeros((1, 1)))
    printed = Predictive(Laplace(1 / 4), np.zeros((1, 1)))  # λ exp(−2λ|t|)
    np.testing.assert_allclose([prior.std**2, printed.std**2], [[0.5], [0.125]])
    slope = prior.log_prob(1.0) - prior.log_prob(2.0)
    np.testing.assert_allclose(slope, 2.0)
    second = integrate.quad(lambda t: t**2 * np.exp(-2 * abs(t)), -40, 40)[0]
    np.testing.assert_allclose(second, 0.5, rtol=1e-8)


def test_likelihood_of_a_class():
    """f = (0.2, 0.5, 0.3), the second class: 0.5, and 0.693147 nats (W35)."""
    nats = -log_prob(Categorical(3), np.log([0.2, 0.5, 0.3]), 1)[0]
    assert np.exp(-nats) == pytest.approx(0.5)
    assert round(nats, 6) == 0.693147


def test_one_hot_vectors_are_root_two_apart():
    """The vertices of the simplex, as limits of softmax (W36)."""
    a, b = np.asarray(softmax(np.array([[2.0, 1.0], [1.0, 2.0]]), temperature=0.0))
    assert np.linalg.norm(a - b) == pytest.approx(1.4142136, rel=1e-6)


def test_scores_that_are_not_probabilities():
    """(0.2, 0.3, 0.4) sums to 0.9; its largest entry is still class 2 (W37, X002-15)."""
    scores = np.array([0.2, 0.3, 0.4])
    assert not in_simplex(scores)
    assert Predictive(Categorical(3), np.log(scores)[None]).mode[0] == 2
    assert in_simplex(scores / scores.sum())


def test_huber_is_continuous_at_its_threshold():
    """½e² = |e| − ½ = 0.5 at e = 1 (W39)."""
    losses = -log_prob(Huber(1.0), np.zeros((3, 1)), [0.0, 1.0, np.nextafter(1.0, 2)])
    np.testing.assert_allclose(losses[1:] - losses[0], 0.5, rtol=1e-12)


def test_gaussian_exponent_is_negative():
    """The density at 5 is 1.5e-6, not 1.07e5 (X001-7)."""
    density = np.exp(log_prob(Normal(1.0), [0.0], 5.0))[0]
    assert density == pytest.approx(1.4867195e-6, rel=1e-7)
    assert 1 / (2 * math.pi * density) == pytest.approx(1.07e5, rel=1e-3)


def test_heteroscedastic_loss_of_one_row():
    """σ = 0.5 and a residual of 1.2 cost 3.11 nats, not −2.65 (X001-8)."""
    loss = -log_prob(Normal(), [0.0, math.log(0.5)], 1.2)[0]
    assert round(loss, 2) == 3.11
    assert round(loss - 2 * 1.2**2 / (2 * 0.5**2), 2) == -2.65


def test_cross_entropy_is_minus_the_log():
    """−y log h − (1−y) log(1−h) is at least 0, with the minus in front (X003-1)."""
    h = np.array([0.01, 0.3, 0.99])
    loss = -log_prob(Bernoulli(), np.log(h / (1 - h))[:, None], [1, 0, 1])
    np.testing.assert_allclose(loss, -np.log([0.01, 0.7, 0.99]))
    assert (loss > 0).all()


def test_multivariate_normal_has_a_root():
    """1/√((2π)² det Σ) = 0.12031 for det Σ = 1.75; its square is printed (X004-6)."""
    L = np.linalg.cholesky([[2.0, 0.5], [0.5, 1.0]])
    below = np.linalg.inv(L)[1, 0]
    eta = [0.0, 0.0, *np.log(np.diag(L)), below]
    density = np.exp(log_prob(MultivariateNormal(2), eta, [0.0, 0.0]))[0]
    assert round(density, 5) == 0.12031
    assert round(density**2, 5) == 0.01447
