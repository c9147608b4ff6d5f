"""Wrappers: counts from regressors of numbers, logarithms, smoothed votes; Nystroem."""

import numpy as np
import pytest
from scipy import stats
from sklearn import linear_model

import likely as lk
from likely.core.checks import InputError
from likely.families import Bernoulli, Categorical


@pytest.fixture
def visits(rng):
    X = rng.normal(size=(300, 2))
    rate = np.exp(0.5 + 0.8 * (X[:, 0] > 0))
    return X, rng.poisson(rate).astype(float), rate


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
def test_counts_from_neighbours_are_nearly_as_likely_as_under_the_truth(family, visits):
    X, y, rate = visits
    model = lk.CountTarget(lk.KNeighborsRegressor(25), family=family).fit(
        X[:200], y[:200]
    )
    dist = model.predict_dist(X[200:])
    truth = stats.poisson(rate[200:]).logpmf(y[200:]).mean()
    assert dist.log_prob(y[200:]).mean() > truth - 0.08
    assert dist.family.discrete
    np.testing.assert_allclose(model.predict(X[200:]), dist.mean, rtol=0.01)
    np.testing.assert_allclose(
        model.nll(X[200:], y[200:]), -dist.log_prob(y[200:]).mean()
    )
    low, high = model.predict_interval(X[200:], 0.8)
    assert np.mean((low <= y[200:]) & (y[200:] <= high)) > 0.75


def test_a_forest_is_judged_out_of_bag_and_fitted_once(visits, monkeypatch):
    X, y, _ = visits
    forest = lk.RandomForestRegressor(20, min_samples_leaf=5, oob_score=True)
    fits = []
    whole = lk.RandomForestRegressor.fit
    monkeypatch.setattr(
        lk.RandomForestRegressor,
        "fit",
        lambda self, *a, **k: fits.append(1) or whole(self, *a, **k),
    )
    model = lk.CountTarget(forest).fit(X, y)
    assert len(fits) == 1
    assert model.predict_dist(X).log_prob(y).mean() > -2.0


def test_an_absent_row_changes_nothing(visits):
    X, y, _ = visits
    w = np.ones(301)
    w[0] = 0
    garbage = np.r_[[[np.nan, 1e300]], X], np.r_[np.nan, y]
    kind = lk.CountTarget(lk.KNeighborsRegressor(25))
    with_it = kind.fit(*garbage, sample_weight=w).predict(X[:5])
    np.testing.assert_allclose(with_it, kind.fit(X, y).predict(X[:5]))


def test_an_unknown_family_is_a_sentence(visits):
    with pytest.raises(InputError, match="negative_binomial, poisson"):
        lk.CountTarget(lk.KNeighborsRegressor(), family="gamma").fit(*visits[:2])


def test_one_vote_more(rng):
    X = np.r_[rng.normal(-3, 1, size=(30, 2)), rng.normal(3, 1, size=(10, 2))]
    y = np.repeat(["no", "yes"], [30, 10])
    model = lk.SmoothedClassifier(lk.KNeighborsClassifier(5), votes=5).fit(X, y)
    far = np.array([[-9.0, -9.0]])
    np.testing.assert_allclose(
        model.predict_proba(far), [[(5 + 0.75) / 6, 0.25 / 6]], rtol=1e-12
    )
    np.testing.assert_allclose(model.predict_dist(far).probs, model.predict_proba(far))
    assert model.predict(far) == ["no"]
    assert isinstance(model.predict_dist(far).family, Bernoulli)
    np.testing.assert_allclose(
        model.predict_log_proba(far), np.log(model.predict_proba(far))
    )
    np.testing.assert_array_equal(model.predict_set(far, 0.9), [[True, False]])
    expected = -np.log(model.predict_proba(X)[np.arange(40), (y == "yes").astype(int)])
    np.testing.assert_allclose(model.nll(X, y), expected.mean())


def test_three_classes_are_categorical(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    model = lk.SmoothedClassifier(lk.KNeighborsClassifier(5), votes=5).fit(X, y)
    assert isinstance(model.predict_dist(X).family, Categorical)
    np.testing.assert_allclose(model.predict_dist(X).probs, model.predict_proba(X))


def test_the_logarithm_of_the_target_is_a_log_normal_distribution(rng, tmp_path):
    X = rng.normal(size=(80, 2))
    y = np.exp(X[:, 0] + 0.3 * rng.normal(size=80))
    model = lk.LogTarget(lk.Ridge()).fit(X, y)
    inner = lk.Ridge().fit(X, np.log(y))
    peer = stats.lognorm(inner.scale_, scale=np.exp(inner.predict(X)))
    np.testing.assert_allclose(model.predict(X), peer.mean())
    known = inner.predict_dist(X)
    nll = -np.mean(known.log_prob(np.log(y)) - np.log(y))
    np.testing.assert_allclose(model.nll(X, y), nll)
    for ours, theirs in zip(
        model.predict_interval(X, 0.8), known.interval(0.8), strict=True
    ):
        np.testing.assert_allclose(ours, np.exp(theirs))
    model.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(model, "predict_proba")


def test_the_logarithm_needs_positive_numbers_and_a_distribution(rng):
    X = rng.normal(size=(4, 2))
    with pytest.raises(InputError, match="numbers above zero"):
        lk.LogTarget(lk.Ridge()).fit(X, [1.0, 2.0, 0.0, 1.0])
    with pytest.raises(InputError, match="LinearRegression has no predict_dist"):
        lk.LogTarget(linear_model.LinearRegression()).fit(X, np.ones(4))


def test_landmarks_are_a_basis(rng):
    """Ridge on all landmarks is kernel ridge regression with a free intercept."""
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 5
    basis = lk.Nystroem(n_components=40, gamma=0.5)
    model = lk.Ridge(alpha=0.1, basis=basis).fit(X, y)
    gaps = ((X[:, None] - X) ** 2).sum(2)
    K = np.exp(-0.5 * gaps)
    centre = np.eye(40) - 1 / 40
    expected = y.mean() + centre @ K @ centre @ np.linalg.solve(
        centre @ K @ centre + 0.1 * np.eye(40), y - y.mean()
    )
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
