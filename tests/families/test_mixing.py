"""Mixtures of predictions of one family, against their definition."""

import numpy as np
import pytest

from likely.core.checks import InputError
from likely.families import (
    Bernoulli,
    Categorical,
    Gamma,
    Mixed,
    Mixture,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    StudentT,
    mix,
)

N = 5
WEIGHTS = [None, np.array([2.0, 1.0, 5.0])]


def etas(family, m=3):
    return np.random.default_rng(0).normal(size=(m, N, family.n_eta))


def share(weights, m=3):
    return np.full(m, 1 / m) if weights is None else weights / weights.sum()


@pytest.mark.parametrize("weights", WEIGHTS, ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("family", "y"),
    [
        (Normal(), 0.3),
        (Normal(2.0), 0.3),
        (StudentT(4.0), -1.2),
        (Gamma(), 0.7),
        (Poisson(), 2.0),
        (Bernoulli(), 1.0),
        (Categorical(4), 2.0),
        (Mixture(Normal(), 2), 0.3),
        (MultivariateNormal(2), np.array([0.1, -0.4])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_probabilities_are_weighted_means(family, y, weights):
    parts = etas(family)
    found = mix(family, parts, weights)
    each = [np.exp(Predictive(family, eta).log_prob(y)) for eta in parts]
    want = share(weights) @ np.stack(each)
    np.testing.assert_allclose(np.exp(found.log_prob(y)), want, rtol=1e-11)
    assert len(found) == N


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(4)])
def test_classes_stay_one_family(family):
    labels = np.array(list("abcd"))[: max(family.n_eta, 2)]
    found = mix(family, etas(family), np.array([2.0, 1.0, 5.0]), labels)
    assert isinstance(found, Predictive)
    assert type(found.family) is type(family)
    assert set(found.mode) <= set(labels)
    np.testing.assert_allclose(found.probs.sum(1), 1.0)


def test_extreme_log_odds_stay_finite():
    found = mix(Bernoulli(), np.array([[[800.0]], [[-800.0]]]))
    np.testing.assert_allclose(found.probs, [[0.5, 0.5]])
    assert np.isfinite(found.eta).all()


def test_one_prediction_passes_through():
    parts = etas(Normal(), 1)
    for found in (mix(Normal(), parts), mix(Normal(), parts, np.array([3.0]))):
        assert isinstance(found.family, Normal)
        np.testing.assert_array_equal(found.eta, parts[0])


def test_predictions_without_weight_are_left_out():
    parts = etas(Normal())
    parts[1] = np.nan
    found = mix(Normal(), parts, np.array([1.0, 0.0, 3.0]))
    want = mix(Normal(), parts[[0, 2]], np.array([1.0, 3.0]))
    np.testing.assert_array_equal(found.eta, want.eta)


def test_mixtures_of_mixtures_are_flat():
    found = mix(Mixture(Normal(), 2), etas(Mixture(Normal(), 2)))
    assert isinstance(found.family.family, Normal)
    assert found.family.n_components == 6
    q = found.quantile(0.3)
    np.testing.assert_allclose(found.cdf(q), 0.3, rtol=1e-9)


def test_numbers_become_a_mixture_of_the_given_components():
    parts = etas(Normal())
    found = mix(Normal(), parts, np.array([0.2, 0.3, 0.5]))
    assert isinstance(found.family, Mixture)
    np.testing.assert_allclose(
        found.mean, np.array([0.2, 0.3, 0.5]) @ parts[..., 0], rtol=1e-12
    )


def test_vectors_become_a_mixed_distribution():
    found = mix(MultivariateNormal(2), etas(MultivariateNormal(2)))
    assert isinstance(found, Mixed)
    np.testing.assert_array_equal(found.weights, np.full(3, 1 / 3))


def test_bad_weights_are_refused():
    parts = etas(Normal())
    for bad in (
        np.ones(2),
        np.array([1.0, -1.0, 1.0]),
        np.zeros(3),
        np.full(3, np.nan),
    ):
        with pytest.raises(InputError, match="weights"):
            mix(Normal(), parts, bad)
    with pytest.raises(InputError, match="at least one"):
        mix(Normal(), parts[:0])
