"""Limits and bounds: against exact answers, enumeration and other formulas."""

import numpy as np
import pytest
from scipy import stats

from likely.core.checks import InputError
from likely.families import Bernoulli, Exponential, Gamma, Normal, Poisson, StudentT
from likely.probability import (
    central_limit,
    chebyshev,
    estimator_risk,
    jensen,
    monte_carlo,
    random_variable,
    running_mean,
    stirling,
)


def test_running_means_stay_in_their_bands():
    found = running_mean(Exponential(), 400, paths=600, rate=2.0, random_state=1)
    assert found.paths.shape == (600, 400)
    assert found.mean == 0.5
    assert found.inside == pytest.approx(0.95, abs=0.03)
    low, high = found.chebyshev
    within = ((found.paths >= low) & (found.paths <= high)).mean(0)
    assert within.min() > 0.95
    assert (
        np.abs(found.paths[:, -1] - 0.5).mean() < np.abs(found.paths[:, 9] - 0.5).mean()
    )
    np.testing.assert_allclose(found.band[1, -1], 0.5 + 1.959964 * 0.5 / 20, rtol=1e-6)
    again = running_mean(Exponential(), 400, paths=600, rate=2.0, random_state=1)
    np.testing.assert_array_equal(again.paths, found.paths)


def test_a_sequence_has_its_own_running_mean(rng):
    x = rng.normal(size=50)
    found = running_mean(x)
    np.testing.assert_allclose(found.paths[0], np.cumsum(x) / np.arange(1, 51))
    assert found.mean == pytest.approx(x.mean())


def test_without_a_mean_there_is_no_limit():
    found = running_mean(StudentT(), 2000, loc=0.0, scale=1.0, df=0.5, random_state=0)
    assert not np.isfinite(found.mean)
    assert np.abs(found.paths[:, -1]).max() > 5


PEERS = {
    "Bernoulli": (Bernoulli(), {"probs": 0.1}, lambda n: stats.binom(n, 0.1), 1.0),
    "Poisson": (Poisson(), {"rate": 0.5}, lambda n: stats.poisson(0.5 * n), 1.0),
    "Exponential": (Exponential(), {"rate": 1.0}, lambda n: stats.gamma(n), None),
}


@pytest.mark.parametrize("name", PEERS)
def test_distances_from_the_normal_law_are_those_of_the_exact_sum(name):
    family, theta, law, step = PEERS[name]
    sizes = (1, 3, 40, 1000)
    found = central_limit(family, sizes, **theta)
    assert (found.distance < found.bound).all()
    assert (np.diff(found.distance) < 0).all()
    for n, distance in zip(sizes, found.distance, strict=True):
        peer = law(n)
        mean, std = peer.mean(), peer.std()
        x = np.arange(n * 8 + 60) if step else np.linspace(0, mean + 12 * std, 20_001)
        normal = stats.norm.cdf((x - mean) / std)
        gaps = [np.abs(peer.cdf(x) - normal).max()]
        if step:
            gaps.append(np.abs(peer.cdf(x - 1) - normal).max())
        assert distance == pytest.approx(max(gaps), abs=1e-9 if step else 2e-5)


def test_the_bound_of_berry_and_esseen():
    """For a fair coin of ±1 the third moment is 1."""
    found = central_limit(np.array([-1.0, 1.0]), (4, 100))
    np.testing.assert_allclose(found.bound, 0.4748 / np.sqrt([4, 100]), rtol=1e-12)
    # one central point of probability C(4, 2)/16, half of which is beyond 0
    assert found.distance[0] == pytest.approx(6 / 32, rel=1e-12)
    assert found.sums[0].lattice
    np.testing.assert_allclose(found.sums[0].z, [-2, -1, 0, 1, 2], atol=1e-12)
    assert central_limit(Normal(), 7, loc=3.0, scale=2.0).distance[0] < 1e-6


def test_chebyshev():
    found = chebyshev(Normal(), 2.0, loc=1.0, scale=1.0)
    assert found.bound == 0.25
    assert found.probability == pytest.approx(2 * stats.norm.sf(2), rel=1e-12)
    assert chebyshev([-1.0, 1.0], 1.0) == (1.0, 1.0)  # it is sharp there
    for eps in (0.5, 1.5, 2.5, 4.0):
        one = chebyshev(Poisson(), eps, rate=2.5)
        k = np.arange(60)
        known = stats.poisson.pmf(k, 2.5)[np.abs(k - 2.5) >= eps].sum()
        assert one.probability == pytest.approx(known, rel=1e-10)
        assert one.probability <= one.bound


def test_jensen():
    convex = jensen(np.square, Normal(), loc=1.0, scale=2.0)
    assert convex.f_of_mean == pytest.approx(1)
    assert convex.gap == pytest.approx(4, rel=1e-10)  # the variance
    concave = jensen(np.log, Gamma(), concentration=3.0, rate=2.0)
    from scipy.special import digamma

    assert concave.gap == pytest.approx(digamma(3) - np.log(3), rel=1e-9)
    assert jensen(lambda x: 2 * x + 1, Poisson(), rate=2.0).gap == pytest.approx(
        0, abs=1e-12
    )
    weights = [0.2, 0.3, 0.5]
    points = jensen(np.exp, [0.0, 1.0, 2.0], sample_weight=weights)
    assert points.mean_of_f == pytest.approx(np.exp([0, 1, 2]) @ weights)
    assert points.gap > 0


def test_stirling():
    n = np.array([1, 2, 10, 100, 10**6])
    found = stirling(n)
    assert (found.remainder < 1 / (12 * n)).all()
    assert (found.remainder > 1 / (12 * n + 1)).all()
    np.testing.assert_allclose(
        np.exp(found.log_factorial[:3]), [1, 2, 3628800], rtol=1e-12
    )
    np.testing.assert_allclose(found.relative_error * 12 * n, 1, atol=0.07)
    assert found.relative_error[2] == pytest.approx(
        1 - 3598695.6187 / 3628800, rel=1e-8
    )


def test_monte_carlo():
    """E cos X = exp(−1/2) for a standard normal X."""
    found = monte_carlo(np.cos, Normal(), 40_000, loc=0.0, scale=1.0)
    low, high = found.interval
    assert low < np.exp(-0.5) < high
    spread = np.sqrt((1 + np.exp(-2)) / 2 - np.exp(-1))
    assert found.standard_error == pytest.approx(spread / 200, rel=0.02)
    assert found.draws_for(found.standard_error / 10) == pytest.approx(4e6, rel=1e-6)
    digits = [found.draws_for_digits(k) for k in (3, 4)]
    assert digits[1] / digits[0] == pytest.approx(100, rel=1e-4)
    wide = [monte_carlo(np.cos, Normal(), n, loc=0.0, scale=1.0) for n in (100, 10_000)]
    assert wide[0].standard_error / wide[1].standard_error == pytest.approx(10, rel=0.3)
    disc = monte_carlo(
        lambda x: (x**2).sum(1) < 1, lambda n, rng: rng.uniform(size=(n, 2)), 20_000
    )
    assert abs(4 * disc.estimate - np.pi) < 4 * 4 * disc.standard_error


def test_intervals_of_monte_carlo_cover():
    X = random_variable(Exponential(), rate=1.0)
    ends = [monte_carlo(np.sqrt, X, 400, random_state=i).interval for i in range(150)]
    known = np.sqrt(np.pi) / 2
    assert 0.88 < np.mean([low < known < high for low, high in ends]) < 0.99


def test_bias_of_the_variance():
    """−σ²/n with 1/n, none with 1/(n − 1): over all samples, and by simulation."""
    exact = estimator_risk(np.var, [-1.0, 1.0], 5, truth=1.0)
    assert exact.method == "exact"
    assert exact.bias == pytest.approx(-0.2, rel=1e-12)
    assert exact.mse == pytest.approx(exact.bias**2 + exact.variance, rel=1e-12)

    def unbiased(x, axis):
        return np.var(x, axis=axis, ddof=1)

    assert estimator_risk(unbiased, [-1.0, 1.0], 5, truth=1.0).bias == pytest.approx(
        0, abs=1e-14
    )
    drawn = estimator_risk(np.var, Normal(), 5, truth=1.0, loc=0.0, scale=1.0)
    assert drawn.method == "simulation"
    assert abs(drawn.bias + 0.2) < 4 * drawn.bias_error
    assert drawn.bias_error == pytest.approx(np.sqrt(8 / 25 / 10_000), rel=0.1)
    assert drawn.mse == pytest.approx(9 / 25, abs=4 * drawn.mse_error)


def test_the_first_observation_is_unbiased():
    coin = random_variable(Bernoulli(), probs=0.3)
    first = estimator_risk(lambda x: x[0], coin, 6, truth=0.3, repeats=4000)
    mean = estimator_risk(np.mean, coin, 6, truth=0.3, repeats=4000)
    assert abs(first.bias) < 4 * first.bias_error
    assert first.mse == pytest.approx(0.21, abs=0.03)
    assert mean.mse == pytest.approx(0.21 / 6, abs=0.005)


def test_bias_by_the_bootstrap(rng):
    x = rng.normal(size=40)
    found = estimator_risk(np.var, x)
    assert (found.method, found.n) == ("bootstrap", 40)
    assert found.truth == pytest.approx(x.var())
    assert found.bias == pytest.approx(-x.var() / 40, abs=4 * found.bias_error)
    # weights are rows repeated, and garbage of weight 0 is not looked at
    w = rng.integers(0, 3, size=40).astype(float)
    dirty = np.where(w > 0, x, np.nan)
    one = estimator_risk(np.mean, dirty, sample_weight=w)
    rows = np.repeat(x, w.astype(int))
    assert one.n == len(rows)
    assert one.truth == pytest.approx(rows.mean())
    assert one.variance == pytest.approx(rows.var() / len(rows), rel=0.1)


BAD = {
    "coverage is 1.5": lambda: running_mean(Normal(), loc=0.0, scale=1.0, coverage=1.5),
    "finite and not zero": lambda: central_limit([1.0, 1.0]),
    "n is \\[0\\]": lambda: central_limit([1.0, 2.0], 0),
    "eps is -1": lambda: chebyshev([0.0, 1.0], -1),
    "variance is not finite": lambda: chebyshev(
        StudentT(), 1.0, loc=0.0, scale=1.0, df=1.5
    ),
    "at least 1": lambda: stirling(0),
    "at least 2 draws": lambda: monte_carlo(np.cos, [0.0, 1.0], 1),
    "its mean is not finite": lambda: monte_carlo(lambda x: x * np.nan, [0.0, 1.0]),
    "has no digits": lambda: monte_carlo(np.sin, [0.0, 0.0]).draws_for_digits(2),
    "n is missing": lambda: estimator_risk(
        np.mean, Normal(), loc=0.0, scale=1.0, truth=0
    ),
    "truth is missing": lambda: estimator_risk(
        np.mean, Normal(), 5, loc=0.0, scale=1.0
    ),
    "too many samples": lambda: estimator_risk(
        np.mean, np.arange(9.0), 9, truth=4, method="exact"
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_gets_a_sentence(message):
    with pytest.raises(InputError, match=message):
        BAD[message]()
