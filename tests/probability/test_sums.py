"""Sums of independent variables: closed forms, grids with their errors, and laws."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from likely.core.checks import InputError
from likely.families import (
    Bernoulli,
    Binomial,
    Exponential,
    Gamma,
    Geometric,
    Laplace,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)
from likely.probability import random_variable, stack

VARIABLES = {
    "normal": random_variable(Normal(), loc=-0.4, scale=1.6),
    "gamma": random_variable(Gamma(), concentration=2.5, rate=1.4),
    "poisson": random_variable(Poisson(), rate=2.5),
    "coin": random_variable(Bernoulli(), probs=0.3),
    "draws": random_variable([0.0, 1.0, 5.0], sample_weight=[0.5, 0.3, 0.2]),
}
PAIRS = list(itertools.combinations(VARIABLES, 2))


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_generating_functions_of_sums_are_products(pair):
    X, Y = (VARIABLES[name] for name in pair)
    t = np.array([-0.3, 0.2])
    np.testing.assert_allclose((X + Y).mgf(t), X.mgf(t) * Y.mgf(t), rtol=1e-12)
    Z = 2 * X - 0.5 * Y + 3
    known = np.exp(3 * t) * X.mgf(2 * t) * Y.mgf(-0.5 * t)
    np.testing.assert_allclose(Z.mgf(t), known, rtol=1e-12)
    assert Z.mean == pytest.approx(2 * X.mean - 0.5 * Y.mean + 3)
    assert Z.variance == pytest.approx(4 * X.variance + 0.25 * Y.variance)
    third = 8 * X.central_moment(3) - 0.125 * Y.central_moment(3)
    assert Z.central_moment(3) == pytest.approx(third, rel=1e-9)


CLOSED = {
    "Normal": (
        lambda: 2 * VARIABLES["normal"] - VARIABLES["normal"].copy() + 1,
        stats.norm(0.6, np.sqrt(5) * 1.6),
    ),
    "Poisson": (
        lambda: VARIABLES["poisson"] + random_variable(Poisson(), rate=1.0),
        stats.poisson(3.5),
    ),
    "Gamma": (
        lambda: VARIABLES["gamma"] + 2 * random_variable(Exponential(), rate=2.8),
        stats.gamma(3.5, scale=1 / 1.4),
    ),
    "Binomial": (
        lambda: VARIABLES["coin"] + random_variable(Binomial(4), probs=0.3),
        stats.binom(5, 0.3),
    ),
    "NegativeBinomial": (
        lambda: (
            random_variable(Geometric(), probs=0.6)
            + random_variable(NegativeBinomial(), mean=2.0, concentration=3.0)
        ),
        stats.nbinom(4, 0.6),
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_sums_that_have_a_name(name):
    make, peer = CLOSED[name]
    total = make()
    assert total.closed is not None
    assert type(total.closed.family).__name__ == name
    t = np.array([0.0, 1.0, 2.0, 6.0])
    np.testing.assert_allclose(total.cdf(t), peer.cdf(t), rtol=1e-11)
    assert total.mean == pytest.approx(peer.mean())
    assert total.variance == pytest.approx(peer.var())


def test_unequal_scales_have_no_name():
    X, Y = (random_variable(Exponential(), rate=rate) for rate in (1.0, 2.0))
    assert (X + Y).closed is None
    assert (VARIABLES["coin"] + random_variable(Bernoulli(), probs=0.5)).closed is None


def test_the_grid_knows_its_error():
    """Two exponential variables of different rates: 2 (exp(−z) − exp(−2z))."""
    X, Y = (random_variable(Exponential(), rate=rate) for rate in (1.0, 2.0))
    grid = (X + Y).grid
    z = grid.x
    known = np.where(z > 0, 2 * (np.exp(-z) - np.exp(-2 * z)), 0.0)
    off = np.abs(grid.density - known)
    assert (off <= grid.errors + 1e-12).all()
    away = np.abs(z) > 0.02  # there is a kink at 0
    assert off[away].max() < 1e-9
    assert off.max() <= grid.error < 1e-3
    t = np.array([0.5, 1.0, 3.0])
    cdf = 1 - 2 * np.exp(-t) + np.exp(-2 * t)
    np.testing.assert_allclose((X + Y).cdf(t), cdf, atol=1e-6)
    np.testing.assert_allclose((X + Y).cdf((X + Y).quantile(cdf)), cdf, atol=1e-5)


@pytest.mark.parametrize(
    "other",
    [
        random_variable(Laplace(), loc=0.0, scale=1.0),
        pytest.param(
            random_variable(StudentT(), loc=0.0, scale=1.0, df=3.0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["Laplace", "StudentT"],
)
def test_densities_of_sums_are_convolutions(other):
    X = VARIABLES["gamma"]
    total = X - 0.5 * other
    for z in (-0.5, 1.0, 4.0):
        known = integrate.quad(
            lambda x, z=z: float(X.pdf(x) * 2 * other.pdf(2 * (x - z))), 0, 60, limit=400,
            points=[max(z, 0.0)],
        )[0]  # fmt: skip
        assert total.pdf(z) == pytest.approx(known, abs=1e-7)
    assert total.expectation(np.ones_like) == pytest.approx(1, abs=1e-6)


def test_sums_of_whole_numbers_are_exact():
    X, Y = random_variable(Binomial(3), probs=0.2), random_variable(Poisson(), rate=1.3)
    total, k = 2 * X - Y, np.arange(-5, 7)
    known = [
        sum(
            stats.binom.pmf(i, 3, 0.2) * stats.poisson.pmf(2 * i - m, 1.3)
            for i in range(4)
        )
        for m in k
    ]
    np.testing.assert_allclose(total.pdf(k), known, atol=1e-14)
    assert total.pdf(0.5) == 0
    np.testing.assert_allclose(total.cdf(k) - total.cdf(k - 1), known, atol=1e-13)
    assert total.quantile(0.5) == k[np.searchsorted(total.cdf(k), 0.5)]


def test_points_and_a_density():
    """A normal variable moved by 0, 1 or 5."""
    X, Y = VARIABLES["draws"], VARIABLES["normal"]
    z = np.array([-1.0, 0.0, 2.3, 5.0])
    known = sum(
        w * stats.norm.pdf(z - x, -0.4, 1.6) for x, w in ((0, 0.5), (1, 0.3), (5, 0.2))
    )
    np.testing.assert_allclose((X + Y).pdf(z), known, atol=(X + Y).grid.error + 1e-9)
    assert (X + Y).grid.error < 1e-5


def test_points_add_up_to_points():
    X = VARIABLES["draws"]
    total = X + X.copy()
    assert sorted(total.closed.values.tolist()) == [0, 1, 2, 5, 6, 10]
    assert total.pdf(6.0) == pytest.approx(2 * 0.3 * 0.2)


def test_a_variable_is_itself():
    X = VARIABLES["normal"]
    assert (X + X).variance == pytest.approx(4 * X.variance)
    assert (X + X.copy()).variance == pytest.approx(2 * X.variance)
    assert (X - 0.5 * X).variance == pytest.approx(0.25 * X.variance)
    with pytest.raises(InputError, match="cancel"):
        X - X


def test_scaled_variables():
    X = VARIABLES["gamma"]
    Y, z = -2 * X + 1, np.array([-3.0, 0.0, 0.9])
    peer = stats.gamma(2.5, scale=1 / 1.4)
    np.testing.assert_allclose(Y.pdf(z), peer.pdf((z - 1) / -2) / 2, rtol=1e-12)
    np.testing.assert_allclose(Y.cdf(z), peer.sf((z - 1) / -2), rtol=1e-10)
    np.testing.assert_allclose(Y.quantile(0.1), 1 - 2 * peer.ppf(0.9), rtol=1e-12)
    coin = 1 - VARIABLES["coin"]
    np.testing.assert_allclose(coin.cdf([-0.5, 0.0, 1.0]), [0, 0.3, 1], atol=1e-15)


def test_vectors_with_shared_parts(rng):
    X, E = VARIABLES["normal"], VARIABLES["gamma"]
    V = stack(X, X + E, 2 * E)
    s, g = X.variance, E.variance
    known = np.array([[s, s, 0], [s, s + g, 2 * g], [0, 2 * g, 4 * g]])
    np.testing.assert_allclose(V.covariance, known, rtol=1e-12)
    A = rng.normal(size=(2, 3))
    np.testing.assert_allclose((A @ V).covariance, A @ known @ A.T, rtol=1e-10)
    t = np.array([0.1, -0.2, 0.1])
    mgf = X.mgf(t[0] + t[1]) * E.mgf(t[1] + 2 * t[2])
    assert V.mgf(t) == pytest.approx(float(mgf), rel=1e-12)
    draws = V.sample(20_000, random_state=0)
    assert np.abs(np.cov(draws.T) - known).max() < 0.15
    with pytest.raises(InputError, match="vectors are not added"):
        V + X
    with pytest.raises(InputError, match="give \\(m, 3\\)"):
        np.eye(2) @ V
