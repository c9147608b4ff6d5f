"""Families that give zero a probability: hurdles and Tweedie, against sums and SciPy."""

import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.families import (
    Exponentiated,
    Gamma,
    Hurdle,
    Hurdled,
    LogNormal,
    Mixture,
    Normal,
    Poisson,
    Predictive,
    Tweedie,
    within,
)


def tweedie_by_sum(y, mean, phi, p):
    """log p(y) and P(Y ≤ y), summed over all numbers of events that matter."""
    rate = mean ** (2 - p) / (phi * (2 - p))
    shape, scale = (2 - p) / (p - 1), phi * (p - 1) * mean ** (p - 1)
    top = max(rate, y ** (2 - p) / (phi * (2 - p)))
    j = np.arange(1, int(top + 12 * np.sqrt(top) + 60))
    logs = stats.poisson.logpmf(j, rate) + stats.gamma.logpdf(y, j * shape, scale=scale)
    below = stats.poisson.pmf(j, rate) @ stats.gamma.cdf(y, j * shape, scale=scale)
    return np.logaddexp.reduce(logs), np.exp(-rate) + below


@pytest.mark.parametrize("p", [1.1, 1.5, 1.9])
def test_tweedie_is_the_sum_over_the_number_of_events(p):
    family = Tweedie(p)
    cases = [(0.01, 1.0, 1.0), (3.0, 2.0, 0.7), (90.0, 50.0, 5.0), (5.1, 5.0, 0.002)]
    y, mean, phi = np.array(cases).T
    rows = Predictive(family, np.log(np.c_[mean, phi]))
    expected = np.array([tweedie_by_sum(*case, p) for case in cases])
    np.testing.assert_allclose(rows.log_prob(y), expected[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows.cdf(y), expected[:, 1], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(rows.var, phi * mean**p)
    rate = mean ** (2 - p) / (phi * (2 - p))
    np.testing.assert_allclose(rows.log_prob(np.zeros(4)), -rate)


def test_a_power_outside_gets_a_sentence():
    with pytest.raises(InputError, match="power is 2; give a number from 1.05"):
        Tweedie(2)


def test_a_hurdle_needs_a_family_of_positive_numbers():
    for family in (Normal(), Poisson()):
        with pytest.raises(
            InputError, match="Hurdle needs a family of numbers above 0"
        ):
            Hurdle(family)


@pytest.fixture
def rows(rng):
    """The same distribution as a family and as a product of two predictions."""
    loc, zero = rng.normal(size=30), rng.uniform(0.05, 0.9, size=30)
    eta = np.c_[np.log(zero / (1 - zero)), loc, np.full(30, -0.2)]
    base = Predictive(LogNormal(), eta[:, 1:])
    return Predictive(Hurdle(LogNormal()), eta), Hurdled(base, zero)


def test_the_product_of_two_predictions_is_a_hurdle(rows, rng):
    family, product = rows
    y = np.where(rng.random(30) < 0.4, 0.0, rng.lognormal(size=30))
    for name in ("log_prob", "cdf", "crps"):
        of_family, of_product = getattr(family, name)(y), getattr(product, name)(y)
        np.testing.assert_allclose(of_family, of_product, rtol=1e-9, atol=1e-9)
    levels = [0.03, 0.5, 0.97]
    np.testing.assert_allclose(family.quantile(levels), product.quantile(levels))
    for name in ("mean", "var", "mode"):
        np.testing.assert_allclose(getattr(family, name), getattr(product, name))
    draws = product.sample(256, random_state=0)
    np.testing.assert_allclose((draws == 0).mean(), product.zero.mean(), atol=0.02)
    part = product[3:5]
    np.testing.assert_array_equal(part.mean, product.mean[3:5])
    with pytest.raises(InputError, match="use log_prob"):
        product.pdf(y)


@pytest.mark.parametrize("y", [0.0, 0.3, 4.0])
def test_the_score_of_a_hurdle_is_the_integral(rows, y):
    row = rows[1][[0]]
    t = np.concatenate([np.linspace(0, y, 2000), y + np.linspace(0, 40, 8000) ** 2 / 8])
    F = row[np.zeros(len(t), int)].cdf(t)
    side = np.where(np.arange(len(t)) < 2000, F, 1 - F) ** 2
    np.testing.assert_allclose(row.crps(y), np.trapezoid(side, t), rtol=1e-3)


def test_a_mixture_of_hurdles_is_zero_up_to_its_probability():
    eta = np.array([[0.0, 0.0, 2.0, 0.0, 0.3, -2.0, 1.0, 0.3]])
    mixed = Predictive(Mixture(Hurdle(Gamma()), 2), eta)
    zero = mixed.cdf(0.0)[0]
    assert 0.4 < zero < 0.6
    low, high = mixed.quantile([zero - 1e-6, zero + 1e-3])[0]
    assert low == 0
    assert high > 0


@pytest.mark.parametrize(
    "dist",
    [
        Predictive(Poisson(), np.array([[90.0], [0.1]])),
        Predictive(Mixture(Gamma(), 2), np.array([[0.0, 0, 50, 1, 60, 1], [0.0] * 6])),
        Exponentiated(Predictive(Normal(), np.array([[80.0, 5.0], [0.1, 0.1]]))),
        Hurdled(
            Predictive(Gamma(), np.array([[80.0, 1.0], [0.1, 0.1]])), np.full(2, 0.3)
        ),
    ],
    ids=["counts", "mixture", "log-normal", "hurdle"],
)
def test_centres_stay_within_a_range(dist):
    moved = within(dist, 0.1, 100.0)
    assert moved.mean[0] < 1e5
    np.testing.assert_array_equal(moved[[1]].mean, dist[[1]].mean)


def test_log_normal_with_a_fixed_scale_has_the_moments_of_scipy():
    dist = Predictive(LogNormal(0.5), np.array([[0.0], [1.0]]))
    truth = stats.lognorm(0.5, scale=np.exp([0.0, 1.0]))
    np.testing.assert_allclose(dist.mean, truth.mean(), rtol=1e-6)
    np.testing.assert_allclose(dist.std, truth.std(), rtol=1e-6)
    np.testing.assert_allclose(dist.quantile(0.9), truth.ppf(0.9), rtol=1e-6)
