"""Counts and gamma targets without compiling: the same optimum, errors and answers."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import likely as lk
from likely.base import learning
from likely.families import Mixture, NegativeBinomial, Predictive
from likely.families.negative_binomial_slopes import marginal_on_host, slopes


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    mean = np.exp(0.8 + 0.4 * X[:, 0])
    return X, mean, rng.integers(0, 3, 300).astype(float), rng


@pytest.fixture
def no_program(monkeypatch):
    def refuse(*args):
        raise AssertionError("a program would be compiled")

    monkeypatch.setattr(learning, "_learn", refuse)
    monkeypatch.setattr(learning, "_all_fits", refuse)


def losses_of(name, eta, r, y):
    mean = np.exp(eta)
    if name == "gamma":
        return -stats.gamma.logpdf(y, r, scale=mean / r)
    if name == "poisson":
        return mean - y * eta + gammaln(y + 1)
    return -stats.nbinom.logpmf(y, r, r / (r + mean))


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "gamma"])
def test_no_coefficient_lowers_the_loss(name, rows, no_program):
    X, mean, w, rng = rows
    y = rng.poisson(mean * rng.gamma(2, 0.5, 300)).astype(float)
    y = y + rng.random(300) if name == "gamma" else y
    kinds = {"poisson": lk.PoissonRegressor, "gamma": lk.GammaRegressor}
    model = kinds.get(name, lk.NegativeBinomialRegressor)(alpha=0.02)
    garbage = X.copy()
    garbage[w == 0] = 1e300
    known = 0.3 * X[:, 2]
    told = {} if name == "gamma" else {"offset": known}
    model.fit(garbage, y, sample_weight=w, **told)
    known = known if told else 0.0

    def loss(b, log_r):
        each = losses_of(name, X @ b[:3] + b[3] + known, np.exp(log_r), y)
        return float(w @ each / w.sum()) + 0.01 * float(b[:3] @ b[:3])

    b = np.r_[model.coef_, model.intercept_]
    u = np.log(getattr(model, "concentration_", 1.0))
    unit = 0.0 if name == "gamma" else u  # whose penalty is that of an exponential
    for step in 1e-4 * np.eye(4):
        sides = [loss(b + s * step, unit) for s in (1, -1)]
        assert abs(sides[0] - sides[1]) < 1e-10
    if name != "poisson":
        assert abs(loss(b, u + 1e-4) - loss(b, u - 1e-4)) < 1e-10


def test_counts_without_extra_variance_are_poisson(rows, no_program):
    X, mean, *_ = rows
    y = np.round(mean)  # less variance than any Poisson distribution
    dispersed = lk.NegativeBinomialRegressor().fit(X, y)
    np.testing.assert_allclose(
        dispersed.coef_, lk.PoissonRegressor().fit(X, y).coef_, atol=1e-5
    )
    assert dispersed.concentration_ > 1e6


def test_a_penalty_is_chosen_without_a_program_for_all_fits(rows, no_program):
    X, mean, _, rng = rows
    model = lk.PoissonRegressor("cv", alphas=[1e3, 1e-3], cv=3)
    assert model.fit(X, rng.poisson(mean)).alpha_ == 1e-3


def test_derivatives_of_the_negative_binomial():
    m, u, y = (
        np.array([0.3, -1.0, 2.0]),
        np.array([-2.0, 1.0, 4.0]),
        np.array([0, 2, 9]),
    )

    def loss(m, u):
        return losses_of("", m, np.exp(u), y)

    h, found = 1e-4, slopes(m, u, y)
    numeric = {
        "m": (loss(m + h, u) - loss(m - h, u)) / (2 * h),
        "u": (loss(m, u + h) - loss(m, u - h)) / (2 * h),
        "mm": (loss(m + h, u) - 2 * loss(m, u) + loss(m - h, u)) / h**2,
        "uu": (loss(m, u + h) - 2 * loss(m, u) + loss(m, u - h)) / h**2,
        "mu": (slopes(m, u + h, y).m - slopes(m, u - h, y).m) / (2 * h),
    }
    for key, values in numeric.items():
        np.testing.assert_allclose(getattr(found, key), values, rtol=1e-5, atol=1e-6)
    far = slopes(m, np.full(3, 13.0), y)  # the series takes over at e^11.5 μ
    near = slopes(m, np.full(3, 11.0), y)
    np.testing.assert_allclose(far.u * np.exp(2), near.u, rtol=1e-3)


def test_answers_about_counts_are_those_of_scipy():
    rng = np.random.default_rng(1)
    eta = rng.normal(size=(40, 6)) + 1
    y = rng.poisson(4, 40).astype(float)
    y[:2] = -1, np.inf
    alone = Predictive(NegativeBinomial(), eta[:, :2])
    r, mean = alone.theta["concentration"], alone.theta["mean"]
    oracle = stats.nbinom(r, r / (r + mean))
    np.testing.assert_allclose(alone.cdf(y), oracle.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(alone.mean, oracle.mean())
    mixed = Predictive(Mixture(NegativeBinomial(), 2), eta)
    share = np.exp(mixed.theta["mixture_logits"])
    parts = [Predictive(NegativeBinomial(), part) for part in (eta[:, 2:4], eta[:, 4:])]
    for answer in (lambda d: d.mean, lambda d: d.cdf(y)):
        each = np.stack([answer(part) for part in parts], 1)
        np.testing.assert_allclose(answer(mixed), (share * each).sum(1), rtol=1e-12)


def test_the_marginal_is_a_maximum():
    y = np.random.default_rng(2).negative_binomial(1.5, 0.2, 200).astype(float)
    w = np.ones(200)
    eta = marginal_on_host(NegativeBinomial(), y, w)
    assert eta is not None
    m, u = eta
    found = slopes(m, u, y)
    assert abs(found.m.mean()) < 1e-12 > abs(found.u.mean())
