"""Distributions made of others, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.families import (
    Bernoulli,
    Exponentiated,
    Mixed,
    Normal,
    Poisson,
    Predictive,
    Stretched,
    StudentT,
)

LEVELS = np.array([0.01, 0.2, 0.5, 0.9, 0.999])


def normal(mean, std):
    return Predictive(Normal(std), np.asarray(mean, float)[:, None])


def test_a_mixture_of_unlike_families():
    m = np.array([0.0, 1.0, -2.0])
    parts = normal(m, 0.5), Predictive(StudentT(3.0, scale=2.0), m[:, None] + 1)
    mixed = Mixed(parts, np.array([0.3, 0.7]))
    a, b = stats.norm(m, 0.5), stats.t(3, m + 1, 2.0)
    y = np.array([0.2, 3.0, -9.0])
    np.testing.assert_allclose(
        np.exp(mixed.log_prob(y)), 0.3 * a.pdf(y) + 0.7 * b.pdf(y), rtol=1e-9
    )
    np.testing.assert_allclose(mixed.cdf(y), 0.3 * a.cdf(y) + 0.7 * b.cdf(y), rtol=1e-9)
    for q in LEVELS:
        np.testing.assert_allclose(mixed.cdf(mixed.quantile(q)), q, rtol=1e-6)
    np.testing.assert_allclose(mixed.mean, m + 0.7, atol=1e-9)
    variance = 0.3 * 0.25 + 0.7 * 4 * 3 + 0.3 * 0.7
    np.testing.assert_allclose(mixed.std, np.sqrt(variance), rtol=1e-8)
    draws = mixed.sample(2000, random_state=0)
    assert draws.shape == (2000, 3)
    shares = [(draws <= mixed.quantile(q)).mean(0) for q in LEVELS]
    np.testing.assert_allclose(shares, np.tile(LEVELS[:, None], 3), atol=0.04)


def test_quantiles_of_mixed_counts_are_counts():
    parts = [Predictive(Poisson(), np.log([[2.0], [30.0]])) for _ in range(2)]
    parts[1] = Predictive(Poisson(), np.log([[5.0], [40.0]]))
    mixed = Mixed(parts, np.array([0.5, 0.5]))
    k = np.arange(200)
    for i, (one, other) in enumerate([(2, 5), (30, 40)]):
        cdf = 0.5 * (stats.poisson.cdf(k, one) + stats.poisson.cdf(k, other))
        for q in LEVELS:
            assert mixed.quantile(q)[i] == k[np.argmax(cdf >= q - 1e-12)]


def test_mixed_classes():
    labels = np.array(["no", "yes"])
    parts = [
        Predictive(Bernoulli(), np.array([[e], [-e]]), labels) for e in (1.0, -3.0)
    ]
    mixed = Mixed(parts, np.array([0.5, 0.5]))
    np.testing.assert_allclose(mixed.probs.sum(1), 1)
    assert mixed.mode.tolist() == ["no", "yes"]
    want = np.log(mixed.probs[[0, 1], [1, 0]])
    np.testing.assert_allclose(mixed.log_prob(["yes", "no"]), want)


def test_the_exponential_of_a_normal_is_log_normal():
    m = np.array([0.0, 1.0])
    ours, peer = Exponentiated(normal(m, 0.7)), stats.lognorm(0.7, scale=np.exp(m))
    y = np.array([0.4, 7.0])
    np.testing.assert_allclose(ours.log_prob(y), peer.logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(ours.cdf(y), peer.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(ours.quantile(0.9), peer.ppf(0.9), rtol=1e-8)
    np.testing.assert_allclose(ours.mean, peer.mean(), rtol=2e-3)
    assert ours.log_prob([-1.0, 2.0])[0] == -np.inf
    assert ours.cdf([0.0, 2.0])[0] == 0


def test_a_stretched_normal_is_a_wider_normal():
    m = np.array([0.0, 5.0])
    ours, peer = Stretched(normal(m, 2.0), 1.5), stats.norm(m, 3.0)
    y = np.array([1.0, 2.0])
    np.testing.assert_allclose(ours.log_prob(y), peer.logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(ours.interval(0.8)[1], peer.ppf(0.9), rtol=1e-8)
    np.testing.assert_allclose(ours.std, 3.0, rtol=1e-9)
    np.testing.assert_allclose(ours.mean, m, atol=1e-9)


def test_weights_that_are_none_are_refused():
    with pytest.raises(InputError, match="sum must be 1"):
        Mixed([normal([0.0], 1.0)], np.array([0.5]))
    with pytest.raises(InputError, match="one weight for each"):
        Mixed([normal([0.0], 1.0)], np.array([0.5, 0.5]))
