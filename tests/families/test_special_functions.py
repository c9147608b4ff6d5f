"""The stable scalar functions, and cdfs and quantiles far out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from likely.core import numerics
from likely.core.precision import float64
from likely.families import (
    Binomial,
    Gamma,
    NegativeBinomial,
    Poisson,
    Predictive,
    StudentT,
)
from likely.families.incomplete import gamma_cdf


def test_the_bounded_link_is_inverted_by_the_unbounded_one():
    for dtype, c in ((np.float32, 20.0), (np.float64, 300.0)):
        with jax.enable_x64(dtype == np.float64):
            eta = jnp.asarray(np.array([-1e4, -c, -1.0, 0.0, c, 2 * c, 1e4], dtype))
            rho = numerics.bounded(eta)
            np.testing.assert_array_equal(rho[1:5], eta[1:5])
            assert (np.diff(rho) > 0).all()
            assert (np.square(1e4 * np.exp(-np.asarray(rho))) < np.inf).all()
            np.testing.assert_allclose(numerics.unbounded(rho), eta, rtol=1e-4)


def test_differences_that_cancel():
    with float64():
        x = jnp.asarray([1e-9, 1e-4, 0.2, 0.3, -0.2, 3.0])
        small = np.asarray(x[:2])
        for found, series, plain in (
            (numerics.log1p_minus(x), -(small**2) / 2 + small**3 / 3, np.log1p(x) - x),
            (numerics.expm1_minus(x), small**2 / 2 + small**3 / 6, np.expm1(x) - x),
        ):
            np.testing.assert_allclose(found[:2], series, rtol=1e-8)
            np.testing.assert_allclose(found[2:], plain[2:], rtol=1e-13)
        u = jnp.asarray([0.0, 1e-9, 0.5, 1.0, 30.0, 1e300])
        square = numerics.log1p_square(u, jnp.zeros(6))
        np.testing.assert_allclose(square[:5], np.log1p(np.asarray(u[:5]) ** 2))
        np.testing.assert_allclose(square[5], 600 * np.log(10))
        beyond = numerics.log1p_square(u, jnp.full(6, -300.0))[1:]
        np.testing.assert_allclose(beyond, 2 * np.log(np.asarray(u[1:])) + 600)


def test_the_remainder_of_stirlings_formula():
    with float64():
        x = jnp.asarray([1e-6, 0.3, 1.0, 7.9, 8.1, 50.0])
        plain = (x - 0.5) * np.log(x) - x + numerics.HALF_LOG_2PI
        np.testing.assert_allclose(
            numerics.stirling(x), special.gammaln(x) - plain, atol=2e-14
        )
        slope = jax.vmap(jax.grad(numerics.stirling))(x)
        np.testing.assert_allclose(
            slope, special.digamma(x) - np.log(x) + 0.5 / x, rtol=1e-9, atol=1e-12
        )
        d = jnp.full(6, 4.0)
        rising = np.log(special.poch(x, 4)) - 4 * np.log(x)
        np.testing.assert_allclose(numerics.log_rising(x, d), rising, atol=1e-12)
        huge = numerics.log_rising(jnp.asarray(1e15), jnp.asarray(4.0))
        np.testing.assert_allclose(huge, 6e-15, atol=1e-15)


def test_incomplete_gamma_on_both_sides_of_the_switch():
    with float64():
        for a in (999.0, 1001.0, 1e4):
            x = a * np.exp(np.linspace(-8, 8, 16) / np.sqrt(a))
            below, above = jax.jit(gamma_cdf)(jnp.full(16, a), jnp.asarray(x))
            np.testing.assert_allclose(below, special.gammainc(a, x), rtol=1e-11)
            np.testing.assert_allclose(above, special.gammaincc(a, x), rtol=1e-11)


RANKS = np.array([1e-200, 1e-30, 1e-9, 0.001, 0.3, 0.7, 0.99])


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 2e4])
def test_student_quantiles_far_out(df):
    rows = Predictive(StudentT(), np.array([[0.0, 0.0, np.log(df)]]))
    df = np.exp(np.log(df))
    keep = slice(2, None) if df < 4 else slice(None)  # SciPy errs further out
    np.testing.assert_allclose(
        rows.quantile(RANKS)[0, keep], stats.t.ppf(RANKS, df)[keep], rtol=1e-9
    )


@pytest.mark.parametrize("a", [0.3, 30.0, 1e6])
def test_gamma_quantiles_far_out(a):
    rows = Predictive(Gamma(), np.array([[0.0, np.log(a)]]))
    a = np.exp(np.log(a))
    found, known = rows.quantile(RANKS)[0], stats.gamma.ppf(RANKS, a, scale=1 / a)
    keep = slice(3, None) if a > 1e5 else slice(None)  # SciPy errs further out
    np.testing.assert_allclose(found[keep], known[keep], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("rate", [0.01, 3.0, 1e3, 1e7])
def test_poisson_quantiles_far_out(rate):
    rows = Predictive(Poisson(), np.full((1, 1), np.log(rate)))
    np.testing.assert_array_equal(
        rows.quantile(RANKS)[0], stats.poisson.ppf(RANKS, rate)
    )


def test_binomial_quantile_where_scipy_errs():
    """P(Y ≤ 1) = 1001/2^1000 is the first to reach 1e-300."""
    rows = Predictive(Binomial(1000), np.zeros((1, 1)))
    assert rows.quantile(1e-300)[0] == 1
    np.testing.assert_allclose(rows.cdf(1.0), 1001 * 2.0**-1000, rtol=1e-9)


# Both precisions, against SciPy ---------------------------------------------------------

FAR = {
    "negative binomial": (
        NegativeBinomial(),
        [
            [16.0, 2.0],
            [16.0, -0.7],
            [13.0, 18.0],
            [3.0, 19.0],
            [1.0, -7.0],
            [16.0, 9.0],
        ],
        lambda e: stats.nbinom(np.exp(e[:, 1]), special.expit(e[:, 1] - e[:, 0])),
    ),
    "binomial": (
        Binomial(10**6),
        [[0.0], [-3.0], [5.0], [-12.0], [12.0], [1.0]],
        lambda e: stats.binom(10**6, special.expit(e[:, 0])),
    ),
    "poisson": (
        Poisson(),
        [[16.0], [-9.0], [6.9], [6.95], [3.0], [11.0]],
        lambda e: stats.poisson(np.exp(e[:, 0])),
    ),
    "gamma": (
        Gamma(),
        [[0.0, -9.0], [5.0, -18.0], [-9.0, -3.0], [9.0, 6.0], [0.0, 12.0], [2.0, 0.0]],
        lambda e: stats.gamma(np.exp(e[:, 1]), scale=np.exp(e[:, 0] - e[:, 1])),
    ),
    "student": (
        StudentT(),
        [
            [0, 0, -4.0],
            [0, 0, 18.0],
            [0, 0, 9.3],
            [0, 0, 0.0],
            [0, 0, 5.0],
            [0, 0, -1.0],
        ],
        lambda e: stats.t(np.exp(e[:, 2])),
    ),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FAR)
def test_cdfs_for_small_and_large_parameters(name, dtype):
    family, eta, peer = FAR[name]
    eta = np.repeat(np.asarray(eta, float), 5, 0)
    y = np.asarray(peer(eta).ppf(np.tile([1e-4, 0.05, 0.5, 0.95, 0.999], 6)))
    y = np.clip(y, -1e30, 1e30).astype(dtype).astype(float)
    with jax.enable_x64(dtype == np.float64):
        rows = jnp.asarray(eta.astype(dtype)), jnp.asarray(y.astype(dtype))
        found = np.asarray(jax.jit(lambda eta, y: family.cdf(eta, y))(*rows))
    assert found.dtype == dtype
    tolerance = {"rtol": 1e-7} if dtype == np.float64 else {"rtol": 3e-3, "atol": 1e-7}
    np.testing.assert_allclose(found, peer(eta).cdf(y), **tolerance)


def test_student_cdf_where_the_square_overflows():
    """P(T > z) falls like z^−ν: half of it at z = 10³⁰⁰ for ν = 0.001."""
    rows = Predictive(StudentT(1e-3), np.array([[0.0, 0.0], [0.0, 0.0]]))
    low, high = rows.cdf([-1e300, 1e300])
    np.testing.assert_allclose(low, 0.24955665, rtol=1e-7)
    np.testing.assert_allclose(high, 1 - low)
    z = np.array([-1e150, -1e154])  # u² and its square root on both sides of overflow
    np.testing.assert_allclose(rows.cdf(z)[1] / rows.cdf(z)[0], 10**-0.004, rtol=1e-9)


@pytest.mark.parametrize("mean", [1e3, 1e7])
def test_counts_in_single_precision_keep_their_nats(mean):
    r"""log p(μ) ≈ −½ log 2πμ(1 + μ/r), which y log μ − μ − log y! would lose."""
    y = np.round([mean, mean + 3 * np.sqrt(mean)]).astype(np.float32)
    log_mean = np.full(2, np.log(mean), np.float32)
    m, y64 = np.exp(log_mean.astype(float)), y.astype(float)
    r = np.float32(np.log(1e8))
    cases = [
        (Poisson(), log_mean[:, None], stats.poisson(m)),
        (
            NegativeBinomial(),
            np.stack([log_mean, np.full(2, r)], 1),
            stats.nbinom(np.exp(float(r)), 1 / (1 + m / np.exp(float(r)))),
        ),
        (
            Binomial(int(4 * mean)),
            np.full((2, 1), np.log(1 / 3), np.float32),
            stats.binom(4 * mean, special.expit(float(np.float32(np.log(1 / 3))))),
        ),
    ]
    for family, eta, peer in cases:
        found = family.log_prob(jnp.asarray(eta), jnp.asarray(y))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, peer.logpmf(y64), rtol=1e-4, atol=2e-3)
