"""Predictions with a corrected distribution function."""

import numpy as np
import pytest
from scipy import integrate, stats

from likely.core.checks import InputError
from likely.families import (
    Categorical,
    Hurdle,
    LogNormal,
    Normal,
    Poisson,
    Predictive,
    Recalibrated,
)

LEVELS, SHARES = np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.3, 0.5, 0.2])


@pytest.fixture
def dist():
    base = Predictive(Normal(), np.array([[0.0, 0.0], [2.0, 0.5]]))
    return Recalibrated(base, LEVELS, SHARES)


def test_the_density_integrates_to_the_corrected_cdf(dist):
    ends = dist.base.quantile(np.array([1e-14, 0.1, 0.5, 1 - 1e-14]))
    x, weight = np.polynomial.legendre.leggauss(48)
    for row in range(2):
        half = np.diff(ends[row])[:, None] / 2
        t = ends[row][:-1, None] + half * (1 + x)
        density = dist[np.full(t.size, row)].pdf(t.ravel()).reshape(t.shape)
        np.testing.assert_allclose((half * weight * density).sum(1), SHARES, atol=1e-9)
    np.testing.assert_allclose(dist.cdf(ends[:, 1]), 0.3, rtol=1e-9)
    q = np.array([0.01, 0.3, 0.55, 0.9])
    np.testing.assert_allclose(
        [dist.cdf(column) for column in dist.quantile(q).T], np.tile(q, (2, 1)).T
    )


def test_moments_draws_and_the_mode(dist):
    def moment(f):
        cells = zip(LEVELS[:-1], LEVELS[1:], SHARES, strict=True)
        return sum(
            s / (b - a) * integrate.quad(lambda u: f(stats.norm.ppf(u)), a, b)[0]
            for a, b, s in cells
        )

    mean = moment(lambda z: z)
    np.testing.assert_allclose(dist.mean, [mean, 2 + np.exp(0.5) * mean], rtol=1e-4)
    var = moment(lambda z: (z - mean) ** 2)
    np.testing.assert_allclose(dist.var, [var, np.exp(1.0) * var], rtol=2e-3)
    draws = dist[np.zeros(500, int)].sample(4, random_state=0)
    assert draws.mean() == pytest.approx(dist.mean[0], abs=0.1)
    np.testing.assert_allclose(dist.mode[0], stats.norm.ppf(0.1), atol=1e-6)
    grid = np.linspace(-20, 20, 400_001)
    F = np.interp(stats.norm.cdf(grid), LEVELS, [0, 0.3, 0.8, 1])
    score = np.sum((F - (grid >= 0.4)) ** 2) * 1e-4
    assert dist[0].crps(0.4)[0] == pytest.approx(score, rel=1e-4)


def test_probabilities_and_points_of_mass():
    poisson = Predictive(Poisson(), np.full((60, 1), 0.7))
    found = np.exp(Recalibrated(poisson, LEVELS, SHARES).log_prob(np.arange(60.0)))
    F = np.interp(
        stats.poisson.cdf(np.arange(-1, 60), np.exp(0.7)), LEVELS, [0, 0.3, 0.8, 1]
    )
    np.testing.assert_allclose(found[:25], np.diff(F)[:25], rtol=1e-7, atol=1e-12)
    hurdle = Predictive(Hurdle(LogNormal()), np.tile([0.3, 0.0, 0.0], (2, 1)))
    y = np.array([0.0, 1.3])
    zero = 1 / (1 + np.exp(-0.3))
    np.testing.assert_allclose(hurdle.below(y), [0.0, hurdle.cdf(y)[1]], atol=1e-9)
    found = Recalibrated(hurdle, LEVELS, SHARES).log_prob(y)
    assert np.exp(found[0]) == pytest.approx(np.interp(zero, LEVELS, [0, 0.3, 0.8, 1]))
    assert found[1] == pytest.approx(hurdle.log_prob(y)[1] + np.log(0.4))


def test_one_cell_changes_nothing_and_bad_cells_get_a_sentence(dist):
    same = Recalibrated(dist.base, np.array([0.0, 1.0]), np.array([1.0]))
    y = np.array([0.3, -1.0])
    np.testing.assert_allclose(same.log_prob(y), dist.base.log_prob(y))
    np.testing.assert_allclose(same.mean, dist.base.mean, atol=1e-12)
    for levels, shares, match in (
        ([0.0, 0.5], [1.0], "rise from 0 to 1"),
        ([0.0, 0.5, 1.0], [1.0, 0.0], "above 0"),
        ([0.0, 0.5, 1.0], [1.0, 1.0], "sum 1"),
    ):
        with pytest.raises(InputError, match=match):
            Recalibrated(dist.base, np.array(levels), np.array(shares))
    classes = Predictive(Categorical(2), np.zeros((1, 2)))
    with pytest.raises(InputError, match="one number"):
        Recalibrated(classes, LEVELS, SHARES)
