"""HMC and NUTS: known posteriors, evidence from draws, one program, refusals."""

import logging

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.inference import Draws, NormalLinearModel, bridge_sampling, hmc, nuts

RNG = np.random.default_rng(0)
X = np.c_[np.ones(20), RNG.normal(size=20)]
SETTINGS = {"warmup": 200, "chains": 4}


class LinearModel(eqx.Module):
    """log p(y, b) with y ~ N(Xb, 1), b ~ N(0, I)."""

    X: np.ndarray
    y: np.ndarray

    def __call__(self, b):
        r = self.y - self.X @ b
        return -0.5 * (r @ r + b @ b) - 0.5 * (len(self.y) + 2) * np.log(2 * np.pi)


def simulate(rng):
    b = rng.normal(size=2)
    return b, X @ b + rng.normal(size=20)


Y = simulate(np.random.default_rng(5))[1]


@pytest.fixture(scope="module")
def draws() -> Draws:
    return nuts(LinearModel(X, Y), np.zeros(2), draws=1000, **SETTINGS)


def test_nuts_recovers_a_conjugate_posterior(draws):
    exact = NormalLinearModel(np.zeros(2), np.eye(2), scale=1.0).update((X, Y))
    assert draws.believable, draws.verdict
    assert draws.n_divergent == 0
    z = (draws.mean - exact.mean) / draws.mcse
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(draws.covariance, exact.covariance, atol=0.015)
    assert draws.tree.shape == (4, 1000, 2)
    thin = draws.flat[::8]
    white = (thin - exact.mean) @ np.linalg.cholesky(np.linalg.inv(exact.covariance))
    assert min(stats.kstest(white[:, j], "norm").pvalue for j in range(2)) > 1e-3


def test_bridge_sampling_finds_the_evidence(draws):
    exact = NormalLinearModel(np.zeros(2), np.eye(2), scale=1.0).log_evidence((X, Y))
    found = bridge_sampling(LinearModel(X, Y), draws)
    assert found.believable, found.verdict
    assert abs(found.log_evidence - exact) < 4 * found.error + 1e-3
    assert found.error < 0.05


def test_same_seed_same_bits_and_nothing_compiles(draws, caplog):
    """Other data, another seed and another number of draws run the same program."""
    model, other = LinearModel(X, Y), LinearModel(X, Y + 1)
    nuts(model, np.zeros(2), draws=10, **SETTINGS)
    with jax.log_compiles(True), caplog.at_level(logging.WARNING):
        again = nuts(model, np.zeros(2), draws=1000, **SETTINGS)
        nuts(other, np.zeros(2), draws=50, random_state=1, **SETTINGS)
    assert not [r for r in caplog.messages if "Compiling" in r]
    np.testing.assert_array_equal(again.values, draws.values)


def chi_square(ranks, n_ranks, bins):
    counts = np.bincount(np.asarray(ranks) * bins // n_ranks, minlength=bins)
    return stats.chisquare(counts).pvalue


def test_simulation_based_calibration():
    """Ranks of prior draws among posterior draws are uniform."""
    rng, ranks = np.random.default_rng(11), []
    for seed in range(24):
        b, y = simulate(rng)
        found = nuts(
            LinearModel(X, y), np.zeros(2), draws=64, random_state=seed, **SETTINGS
        )
        ranks += list((found.flat[::4][:63] < b).sum(0))
    assert chi_square(ranks, 64, 8) > 1e-3


class Logistic(eqx.Module):
    """Classes with b ~ N(0, I)."""

    X: np.ndarray
    y: np.ndarray

    def __call__(self, b):
        eta = self.X @ b
        return (self.y * eta - jnp.logaddexp(0.0, eta)).sum() - 0.5 * b @ b


class Poisson(eqx.Module):
    """Counts with b ~ N(0, I)."""

    X: np.ndarray
    y: np.ndarray

    def __call__(self, b):
        eta = 0.5 * self.X @ b
        return (self.y * eta - jnp.exp(eta)).sum() - 0.5 * b @ b


KINDS = {
    "normal": (LinearModel, lambda rng, b: X @ b + rng.normal(size=20)),
    "logistic": (
        Logistic,
        lambda rng, b: (rng.random(20) < 1 / (1 + np.exp(-X @ b))).astype(float),
    ),
    "poisson": (
        Poisson, lambda rng, b: rng.poisson(np.exp(0.5 * X @ b)).astype(float)
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_calibration_of_three_models(kind):
    """200 data sets from the prior; 63 draws, thinned to be about independent."""
    density, draw = KINDS[kind]
    rng, ranks = np.random.default_rng(3), []
    for seed in range(200):
        b = rng.normal(size=2)
        found = nuts(
            density(X, draw(rng, b)),
            np.zeros(2),
            draws=100,
            random_state=seed,
            **SETTINGS,
        )
        ranks.append((found.flat[::6][:63] < b).sum(0))
    for j in range(2):
        assert chi_square(np.array(ranks)[:, j], 64, 16) > 1e-3


@pytest.mark.slow
def test_hmc_draws_from_a_tree_of_parameters():
    """A gamma law through its logarithm, and an independent normal."""

    def log_density(t):
        u = t["log rate"]
        return 3 * u - jnp.exp(u) - 0.5 * ((t["m"] - 1) ** 2).sum()

    start = {"log rate": 0.0, "m": np.zeros(2)}
    found = hmc(log_density, start, length=1.5, draws=1500)
    assert found.believable, found.verdict
    assert found.names == ("log rate", "m[0]", "m[1]")
    rate = np.exp(found.tree["log rate"])
    assert rate.mean() == pytest.approx(3, abs=0.15)
    assert found.mean[1:] == pytest.approx([1, 1], abs=0.1)


@pytest.mark.slow
def test_a_funnel_is_not_believed():
    """Neal's funnel: its neck is narrower than any step that suits the rest."""

    def funnel(z):
        return (
            -(z[0] ** 2) / 18 - 0.5 * (z[1:] ** 2).sum() * jnp.exp(-z[0]) - 4.5 * z[0]
        )

    found = nuts(funnel, np.zeros(10), draws=500)
    assert not found.believable
    assert "Do not believe" in found.verdict


@pytest.mark.slow
def test_an_improper_posterior_is_not_believed():
    found = nuts(
        lambda z: -0.5 * z[0] ** 2 + 0.0 * z[1], np.zeros(2), draws=500, max_depth=5
    )
    assert not found.believable


def test_bad_starts_and_settings_are_refused():
    model = LinearModel(X, np.full(20, np.nan))
    with pytest.raises(InputError, match="not a number"):
        nuts(model, np.zeros(2), **SETTINGS)
    with pytest.raises(InputError, match="warmup"):
        nuts(model, np.zeros(2), warmup=0)
    with pytest.raises(InputError, match="draws"):
        nuts(model, np.zeros(2), draws=1)
    with pytest.raises(InputError, match="target_acceptance"):
        nuts(model, np.zeros(2), target_acceptance=2.0)
    with pytest.raises(InputError, match="names"):
        nuts(model, np.zeros(2), names=["a"])
    with pytest.raises(InputError, match="no numbers"):
        nuts(model, {})
