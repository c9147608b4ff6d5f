"""Mixtures of any family: the same as the normal mixture, and as the planted truth."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import likely as lk
from likely import families
from likely.core import InputError

rng = np.random.default_rng(0)
COUNTS = np.r_[rng.poisson(2.0, 200), rng.poisson(11.0, 100)][:, None].astype(float)


def test_poisson_components_are_found():
    model = lk.MixtureModel("poisson", n_init=2, tol=1e-8).fit(COUNTS)
    order = np.argsort(model.thetas_["rate"])
    np.testing.assert_allclose(model.thetas_["rate"][order], [2, 11], rtol=0.1)
    np.testing.assert_allclose(model.weights_[order], [2 / 3, 1 / 3], atol=0.05)
    assert (np.diff(model.lower_bounds_) >= -1e-12).all()
    joint = np.log(model.weights_) + stats.poisson(model.thetas_["rate"]).logpmf(COUNTS)
    np.testing.assert_allclose(model.log_prob(COUNTS), logsumexp(joint, axis=1))
    q = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.responsibilities(COUNTS), q, atol=1e-9)
    np.testing.assert_array_equal(model.predict(COUNTS), q.argmax(1))
    draws = model.sample(5000, random_state=0)
    assert draws.mean() == pytest.approx(COUNTS.mean(), rel=0.05)
    assert model.log_prob([[1.5]]) == -np.inf
    w = np.arange(300) % 3
    garbage = np.where(w[:, None] > 0, COUNTS, np.nan)
    weighted = lk.MixtureModel("poisson", n_init=2).fit(garbage, sample_weight=w)
    repeated = lk.MixtureModel("poisson", n_init=2).fit(np.repeat(COUNTS, w, axis=0))
    np.testing.assert_array_equal(weighted.etas_, repeated.etas_)


@pytest.mark.slow
def test_normal_components_are_those_of_the_normal_mixture():
    X = np.r_[rng.normal(0, 1, (150, 2)), rng.normal(4, 1.5, (100, 2))]
    ours = lk.MixtureModel("normal", 2, tol=1e-10, max_iter=1000).fit(X)
    other = lk.GaussianMixture(2, tol=1e-10, max_iter=1000).fit(X)
    assert ours.lower_bound_ == pytest.approx(other.lower_bound_, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Gamma", "StudentT", "NegativeBinomial", "Weibull"])
def test_the_likelihood_never_falls(name):
    family = getattr(families, name)()
    model = lk.MixtureModel(family, 2, n_init=2).fit(COUNTS + 1)
    assert (np.diff(model.lower_bounds_) >= -1e-9).all()
    single = lk.FamilyDensity(family).fit(COUNTS + 1)
    assert model.score(COUNTS + 1) > single.score(COUNTS + 1)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="X has -1"):
        lk.MixtureModel("poisson").fit(COUNTS - 1 - COUNTS.min())
    with pytest.raises(InputError, match="fewer components"):
        lk.MixtureModel("poisson", 3).fit([[1.0], [2.0]])
