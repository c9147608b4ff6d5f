"""Neighbours, naive Bayes and null models against scikit-learn and closed forms."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit
from sklearn import datasets, naive_bayes, neighbors

from likely.core import InputError
from likely.estimators import (
    GaussianNB,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NullClassifier,
    NullRegressor,
)
from likely.estimators.neighbors.nearest import neighbor_weights

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(120, 3)), rng.normal(size=120)
LABELS = np.array(["a", "b", "c"])[rng.integers(0, 3, 120)]
V = rng.normal(size=(40, 3))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_equal_scikit_learns(metric, weights):
    settings = {"n_neighbors": 7, "metric": metric, "weights": weights}
    ours = KNeighborsClassifier(**settings).fit(X, LABELS)
    peer = neighbors.KNeighborsClassifier(**settings).fit(X, LABELS)
    np.testing.assert_allclose(ours.votes(V), peer.predict_proba(V), atol=1e-12)
    np.testing.assert_array_equal(
        ours.predict(V), ours.classes_[ours.votes(V).argmax(1)]
    )
    numbers = KNeighborsRegressor(**settings).fit(X, Y)
    peer = neighbors.KNeighborsRegressor(**settings).fit(X, Y)
    np.testing.assert_allclose(numbers.predict(V), peer.predict(V))
    own = KNeighborsRegressor(**settings).fit(X, Y).predict(X)
    np.testing.assert_allclose(own, peer.predict(X))


def test_ties_share_what_is_left():
    D = np.array([[1.0, 2.0, 2.0, 2.0, 3.0]])
    np.testing.assert_allclose(
        neighbor_weights(D, np.ones(5), 2.0), [[1, 1 / 3, 1 / 3, 1 / 3, 0]]
    )
    np.testing.assert_allclose(
        neighbor_weights(D, np.array([3.0, 1, 1, 1, 1]), 2.0), [[2, 0, 0, 0, 0]]
    )


def test_the_scale_is_that_of_leaving_one_out():
    model = KNeighborsRegressor(4).fit(X, Y)
    errors = [
        neighbors.KNeighborsRegressor(4)
        .fit(np.delete(X, i, 0), np.delete(Y, i))
        .predict(X[[i]])[0]
        - Y[i]
        for i in range(len(Y))
    ]
    np.testing.assert_allclose(model.scale_, np.sqrt(np.mean(np.square(errors))))
    dist = model.predict_dist(V)
    np.testing.assert_allclose(dist.mean, model.predict(V))
    np.testing.assert_allclose(dist.std, model.scale_)


def test_neighbours_refuse_what_they_cannot():
    with pytest.raises(InputError, match="ask for fewer neighbours"):
        KNeighborsClassifier(50).fit(X[:10], LABELS[:10])
    with pytest.raises(InputError, match="metric is 'mahalanobis'"):
        KNeighborsClassifier(metric="mahalanobis").fit(X, LABELS)


def test_as_many_rows_as_neighbours_are_predicted_from_the_others():
    few = KNeighborsRegressor(3).fit(X[:3], Y[:3])
    errors = 1.5 * (Y[:3] - Y[:3].mean())
    assert few.scale_ > np.sqrt(np.mean(errors**2))
    same = KNeighborsRegressor(3).fit(np.ones((3, 2)), Y[:3])  # none is new to another
    np.testing.assert_allclose(same.scale_, Y[:3].std())


@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_equals_scikit_learns(weighted):
    A, y = datasets.load_iris(return_X_y=True)
    w = rng.uniform(0.1, 3, len(y)) if weighted else None
    ours = GaussianNB().fit(A, y, sample_weight=w)
    peer = naive_bayes.GaussianNB().fit(A, y, sample_weight=w)
    np.testing.assert_allclose(ours.theta_, peer.theta_)
    np.testing.assert_allclose(ours.class_prior_, peer.class_prior_)
    tolerance = 1e-6 if weighted else 1e-9  # the smoothing has no weights there
    np.testing.assert_allclose(ours.votes(A), peer.predict_proba(A), atol=tolerance)
    np.testing.assert_array_equal(ours.predict(A), peer.predict(A))
    np.testing.assert_allclose(
        ours.predict_dist(A).probs, ours.predict_proba(A), atol=1e-12
    )


def test_naive_bayes_counts_dependent_evidence_twice():
    """A column given twice makes the odds of a row their square: where the recipe bends."""
    A = rng.normal(size=(100, 1))
    y = (A[:, 0] + rng.normal(size=100) > 0).astype(int)
    one = GaussianNB(priors=[0.5, 0.5]).fit(A, y)
    two = GaussianNB(priors=[0.5, 0.5]).fit(np.c_[A, A], y)
    odds = [logit(one.votes(A)[:, 1]), logit(two.votes(np.c_[A, A])[:, 1])]
    np.testing.assert_allclose(odds[1], 2 * odds[0], rtol=1e-6)
    copies = np.repeat(A, 16, axis=1)
    many = GaussianNB().fit(copies, y)
    own = many.votes(copies)[np.arange(100), y]
    assert many.nll(copies, y) < 1 < -np.log(own).mean()  # which takes it back
    with pytest.raises(InputError, match="2 probabilities"):
        GaussianNB(priors=[0.5, 0.6]).fit(A, y)


def test_the_null_model_of_numbers_is_their_marginal_normal():
    w = rng.integers(0, 3, len(Y))
    model = NullRegressor().fit(X, np.where(w > 0, Y, np.nan), sample_weight=w)
    mean = np.average(Y, weights=w)
    std = np.sqrt(np.average((Y - mean) ** 2, weights=w))
    np.testing.assert_allclose(model.predict(V), mean)
    low, high = model.predict_interval(V, coverage=0.8)
    np.testing.assert_allclose(low, stats.norm(mean, std).ppf(0.1))
    np.testing.assert_allclose(high, stats.norm(mean, std).ppf(0.9))


def test_the_null_model_of_classes_is_their_shares():
    model = NullClassifier().fit(X, LABELS)
    shares = np.array([np.mean(c == LABELS) for c in model.classes_])
    np.testing.assert_allclose(model.predict_proba(V), np.tile(shares, (len(V), 1)))
    np.testing.assert_allclose(model.predict_log_proba(V[:1])[0], np.log(shares))
    for coverage, size in ((0.99, 3), (shares.max() - 1e-9, 1)):
        assert model.predict_set(V, coverage=coverage).sum(1).tolist() == [size] * 40
    assert set(model.predict(V)) == {model.classes_[shares.argmax()]}
