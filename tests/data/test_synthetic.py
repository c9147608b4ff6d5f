"""Synthetic sets: the truth they return is the truth that made them."""

import numpy as np
import pytest
from scipy import integrate, stats

from likely import data
from likely.core import InputError
from likely.data.registry import _SYNTHETIC


@pytest.mark.parametrize("make", _SYNTHETIC, ids=lambda make: make.__name__)
def test_seed_decides_everything(make):
    first, again = make(60, random_state=3), make(60, random_state=3)
    np.testing.assert_array_equal(first.X, again.X)
    other = make(60, random_state=4)
    values = first.y if make is data.biased else first.X
    others = other.y if make is data.biased else other.X
    assert not np.array_equal(values, others)
    assert first.truth
    assert len(first.names) == first.X.shape[1]
    from_generator = make(60, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(from_generator.X, first.X)


def test_legacy_random_state_is_accepted():
    first = data.moons(20, random_state=np.random.RandomState(0))
    again = data.moons(20, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(first.X, again.X)


@pytest.mark.parametrize("make", [data.linear, data.correlated])
def test_least_squares_finds_the_coefficients(make):
    found = make(20_000, random_state=0)
    ones = np.ones((len(found), 1))
    beta = np.linalg.lstsq(np.hstack([found.X, ones]), found.y, rcond=None)[0]
    np.testing.assert_allclose(beta[:-1], found.truth["coefficients"], atol=0.06)
    residual = found.y - found.truth["mean"](found.X)
    assert residual.std() == pytest.approx(found.truth["noise"], rel=0.02)


def test_correlated_columns_have_their_covariance():
    found = data.correlated(50_000, 4, rho=-0.7, random_state=1)
    covariance = np.cov(found.X, rowvar=False)
    np.testing.assert_allclose(covariance, found.truth["covariance"], atol=0.03)
    with pytest.raises(InputError, match=r"rho is 1\.5"):
        data.correlated(rho=1.5)


def test_curve_and_polynomial_are_their_functions():
    found = data.curve(5, np.cos, noise=0.0, random_state=0)
    np.testing.assert_allclose(found.y, np.cos(found.X[:, 0]))
    cubic = data.polynomial(5, (1, 2, 0, -1), noise=0.0, random_state=0)
    x = cubic.X[:, 0]
    np.testing.assert_allclose(cubic.y, 1 + 2 * x - x**3)


def test_noise_of_the_heteroscedastic_set_grows_as_told():
    found = data.heteroscedastic(20_000, random_state=0)
    z = (found.y - found.truth["mean"](found.X)) / found.truth["std"](found.X)
    assert stats.kstest(z, "norm").pvalue > 0.01
    early = found.X[:, 0] < 0.1
    assert found.truth["std"](found.X[early]).max() < 0.1


def test_counts_have_their_rate():
    found = data.counts(20_000, random_state=0)
    z = (found.y - found.truth["rate"](found.X)) / np.sqrt(found.truth["rate"](found.X))
    assert abs(z.mean()) < 0.02
    assert z.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(
    "found",
    [
        data.rings(20_000, noise=0.2, random_state=0),
        data.mixture(20_000, weights=(0.2, 0.3, 0.5), random_state=0),
        data.inseparable(20_000, random_state=0),
        data.disc(20_000, flip=0.1, random_state=0),
    ],
    ids=["rings", "mixture", "inseparable", "disc"],
)
def test_probabilities_are_calibrated(found):
    """Where a class is said to have probability p, its share is p."""
    p = found.truth["probability"](found.X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for k in range(p.shape[1]):
        bins = np.clip((p[:, k] * 5).astype(int), 0, 4)
        for b in np.unique(bins):
            here = bins == b
            if here.sum() > 500:
                share = (found.y[here] == k).mean()
                assert share == pytest.approx(p[here, k].mean(), abs=0.04)


def test_best_error_of_inseparable_classes():
    found = data.inseparable(50_000, distance=1.5, random_state=0)
    best = found.truth["probability"](found.X).argmax(axis=1)
    assert (best != found.y).mean() == pytest.approx(found.truth["error"], abs=0.006)
    assert found.truth["error"] == pytest.approx(stats.norm.cdf(-0.75))


def test_density_of_the_mixture_integrates_to_one():
    found = data.mixture(10, [[0.0], [4.0]], std=(1.0, 0.5), random_state=0)

    def density(x):
        return np.exp(found.truth["log_density"](np.array([[x]])))[0]

    assert integrate.quad(density, -10, 15)[0] == pytest.approx(1)
    with pytest.raises(InputError, match="must be 3 probabilities"):
        data.mixture(weights=(0.5, 0.2, 0.1))


def test_disc_is_parted_by_its_feature():
    """D26: max(0, 1 − (x² + y²)) is positive exactly inside."""
    found = data.disc(500, random_state=0)
    feature = found.truth["feature"](found.X)
    np.testing.assert_array_equal(feature > 0, found.y == 1)
    by_hand = np.maximum(0, 1 - found.X[:, 0] ** 2 - found.X[:, 1] ** 2)
    np.testing.assert_allclose(feature, by_hand)
    assert 0.2 < found.y.mean() < 0.5


def test_separable_classes_keep_their_margin():
    found = data.separable(300, 5, margin=0.3, random_state=0)
    sides = (2 * found.y - 1) * (found.X @ found.truth["direction"])
    assert sides.min() >= 0.3
    assert np.linalg.norm(found.truth["direction"]) == pytest.approx(1)


@pytest.mark.parametrize("make", [data.moons, data.spirals, data.rings])
def test_shapes_have_equal_classes_around_clean_points(make):
    found = make(200, noise=0.05, random_state=0)
    np.testing.assert_array_equal(np.bincount(found.y), [100, 100])
    gap = found.X - found.truth["clean"]
    assert gap.std() == pytest.approx(0.05, rel=0.15)


def test_signals_hold_shapes_at_random_places():
    found = data.signals(90, 64, noise=0.0, random_state=0)
    np.testing.assert_array_equal(found.X, found.truth["clean"])
    bumps = found.X[found.y == 0].argmax(axis=1)
    np.testing.assert_allclose(bumps, found.truth["place"][found.y == 0], atol=1)
    with pytest.raises(InputError, match="at least 16"):
        data.signals(length=8)


def test_couples_inflate_the_variance_of_a_mean():
    """A38: 100 couples tell less than 200 independent people."""
    rng = np.random.default_rng(0)
    means = [data.couples(100, correlation=0.6, random_state=rng) for _ in range(4000)]
    truth = means[0].truth
    variance = np.var([found.X.mean() for found in means])
    assert variance == pytest.approx(truth["variance_of_mean"], rel=0.08)
    assert truth["variance_of_mean"] == pytest.approx(
        1.6 * truth["variance_if_independent"]
    )
    assert truth["effective_n"] == pytest.approx(125)
    np.testing.assert_array_equal(np.bincount(truth["groups"]), np.full(100, 2))


def test_independent_people_are_couples_without_correlation():
    rng = np.random.default_rng(0)
    means = [
        data.couples(100, correlation=0.0, random_state=rng).X.mean()
        for _ in range(4000)
    ]
    assert np.var(means) == pytest.approx(1 / 200, rel=0.08)
    with pytest.raises(InputError, match=r"correlation is -0\.5"):
        data.couples(correlation=-0.5)


def test_drift_breaks_identical_distribution():
    """A71: what the first half teaches is wrong about the second."""
    found = data.drift(4000, change=2.0, noise=0.3, random_state=0)
    x = found.X[:, 0]
    slopes = [
        x[h] @ found.y[h] / (x[h] @ x[h]) for h in (slice(0, 2000), slice(2000, None))
    ]
    np.testing.assert_allclose(slopes, [1.5, 2.5], atol=0.05)
    np.testing.assert_allclose(found.truth["mean"](found.X), found.truth["slope"] * x)


def test_weights_undo_a_biased_collection():
    """A71: the sample is shifted, and known weights shift it back."""
    found = data.biased(20_000, strength=0.5, random_state=0)
    assert found.y.mean() == pytest.approx(0.5, abs=0.03)
    weighted = np.average(found.y, weights=found.truth["weights"])
    assert weighted == pytest.approx(0.0, abs=0.04)
