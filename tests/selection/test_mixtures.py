"""Mixtures of predictors: their weights are optimal, their distributions are mixtures."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import linear_model
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likely as lk
from likely.core import InputError
from likely.families import Bernoulli, Categorical, Laplace, Mixed, Normal, Predictive
from likely.selection import mixing_weights

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=150)
LABELS = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=150) > 0, "yes", "no")


def test_weights_are_those_of_a_general_solver():
    L = rng.normal(size=(200, 4)) * [1.0, 1.2, 0.8, 2.0] - [0.0, 0.2, 0.1, 3.0]
    w = rng.uniform(0, 2, 200)
    found = mixing_weights(L, w)

    def loss(z):
        log_pi = z - logsumexp(z)
        return -np.average(logsumexp(L + log_pi, axis=1), weights=w)

    other = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(found.value, -other.fun, atol=1e-7)
    assert found.gap <= 1e-9
    assert (found.weights >= 0).all()
    np.testing.assert_allclose(found.weights.sum(), 1)


def test_the_gap_is_a_certificate():
    L = rng.normal(size=(100, 3))
    early = mixing_weights(L, tolerance=1e-2, max_steps=1)
    best = mixing_weights(L)
    assert best.value - early.value <= early.gap + 1e-12
    with pytest.raises(InputError, match="NaN"):
        mixing_weights([[np.nan, 0.0]])


def test_a_useless_member_gets_nothing():
    L = np.c_[np.zeros(50), np.full(50, -3.0)]
    np.testing.assert_allclose(mixing_weights(L).weights, [1, 0], atol=1e-9)


def test_impossible_observations_do_not_break_it():
    L = np.log(np.array([[0.5, 1e-300], [0.4, 0.9]]))
    L[0, 1] = -np.inf
    assert np.isfinite(mixing_weights(L).value)


def test_stacking_is_at_least_as_likely_as_every_member():
    model = lk.Stacking(
        [lk.LinearRegression(), ("near", lk.KNeighborsRegressor()), lk.SVR(probability=True)],
        cv=KFold(4),
    ).fit(X, Y)  # fmt: skip
    assert model.held_out_mixture_ <= model.held_out_.min() + 1e-9
    assert model.names_ == ["LinearRegression", "near", "SVR"]
    assert model.gap_ <= 1e-9
    dist = model.predict_dist(X)
    parts = np.stack([m.predict_dist(X).log_prob(Y) for m in model.members_], 1)
    expected = logsumexp(parts, b=model.weights_, axis=1)
    np.testing.assert_allclose(dist.log_prob(Y), expected)
    np.testing.assert_allclose(model.nll(X, Y), -expected.mean())


def test_a_mixture_of_families_is_consistent():
    members = [
        Predictive(Normal(), np.array([[0.0, 0.0], [1.0, -1.0]])),
        Predictive(Laplace(), np.array([[2.0, -0.5], [1.0, 0.3]])),
    ]
    dist = Mixed.of(members, [0.3, 0.7])
    for q in (0.05, 0.5, 0.9):
        np.testing.assert_allclose(dist.cdf(dist.quantile(q)), q, atol=1e-9)
    grid = np.linspace(-30, 30, 60_001)
    for row in range(2):
        one = Mixed.of(
            [
                Predictive(m.family, np.repeat(m.eta[[row]], len(grid), 0))
                for m in members
            ],
            [0.3, 0.7],
        )
        p = np.exp(one.log_prob(grid))
        np.testing.assert_allclose(np.trapezoid(p, grid), 1, atol=1e-6)
        mean = np.trapezoid(p * grid, grid)
        np.testing.assert_allclose(dist.mean[row], mean, atol=1e-5)
        spread = np.sqrt(np.trapezoid(p * (grid - mean) ** 2, grid))
        np.testing.assert_allclose(dist.std[row], spread, atol=1e-4)
    draws = dist.sample(20_000, random_state=0)
    np.testing.assert_allclose(draws.mean(0), dist.mean, atol=0.05)
    low, high = dist.interval(0.8)
    assert abs(np.mean((draws > low) & (draws < high)) - 0.8) < 0.01


def test_ensembles_of_any_regressors_and_classifiers():
    """scikit-learn's own too; numbers get the scale of their held-out errors."""
    mixed = lk.Ensemble(
        [linear_model.Ridge(), lk.KNeighborsRegressor()], weights=[1, 3]
    )
    mixed.fit(X, Y)
    np.testing.assert_allclose(mixed.weights_, [0.25, 0.75])
    parts = [m.predict(X) for m in mixed.members_]
    np.testing.assert_allclose(mixed.predict(X), 0.25 * parts[0] + 0.75 * parts[1])
    low, high = mixed.predict_interval(X, coverage=0.9)
    assert 0.85 < np.mean((low < Y) & (high > Y)) <= 1
    classes = lk.Stacking([linear_model.LogisticRegression(), lk.KNeighborsClassifier(),
                           lk.SVC(probability=True)]).fit(X, LABELS)  # fmt: skip
    P = classes.predict_proba(X)
    np.testing.assert_allclose(P.sum(1), 1)
    assert classes.weights_[0] < 0.2  # no line separates these
    assert classes.score(X, LABELS) > 0.8


def test_mixtures_have_the_face_of_every_predictor(tmp_path):
    members = [lk.GaussianNB(), linear_model.LogisticRegression()]
    model = lk.Ensemble(members).fit(X, LABELS)
    probs = model.predict_proba(X)
    parts = [m.predict_proba(X) for m in model.members_]
    np.testing.assert_allclose(probs, np.mean(parts, 0))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(probs))
    np.testing.assert_array_equal(model.predict(X), model.classes_[probs.argmax(1)])
    assert isinstance(model.predict_dist(X).family, Bernoulli)
    chosen = model.predict_set(X, 0.8)
    assert ((probs * chosen).sum(1) >= 0.8).all()
    right = probs[np.arange(len(X)), (LABELS == "yes").astype(int)]
    np.testing.assert_allclose(model.nll(X, LABELS), -np.log(right).mean())
    assert not hasattr(model, "predict_interval")
    assert is_classifier(model)
    three = np.digitize(Y, [-0.5, 0.5])
    model = lk.Stacking([lk.GaussianNB(), lk.KNeighborsClassifier()]).fit(X, three)
    assert isinstance(model.predict_dist(X).family, Categorical)
    model = lk.Ensemble([lk.KNeighborsRegressor(), lk.NullRegressor()]).fit(X, Y)
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")
    model.save(tmp_path / "model.likely")
    again = lk.load(tmp_path / "model.likely")
    for ours, theirs in zip(
        again.predict_interval(X), model.predict_interval(X), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_pipeline_is_asked_for_the_distribution_of_its_last_step():
    counts = np.round(np.exp(0.5 * X[:, 0] + 1))
    pipe = make_pipeline(StandardScaler(), lk.PoissonRegressor())
    model = lk.Ensemble([pipe]).fit(X, counts)
    dist = model.predict_dist(X)
    assert dist.discrete
    scaled = StandardScaler().fit_transform(X)
    alone = lk.PoissonRegressor().fit(scaled, counts).predict_dist(scaled)
    np.testing.assert_allclose(dist.log_prob(counts), alone.log_prob(counts))


def test_the_steps_of_a_pipeline_get_the_weights():
    w = np.r_[np.full(75, 2.0), np.zeros(75)]
    pipe = make_pipeline(StandardScaler(), lk.GaussianNB())
    weighted = lk.Ensemble([pipe]).fit(X, LABELS, sample_weight=w)
    twice = np.tile(np.arange(75), 2)
    alone = pipe.fit(X[twice], LABELS[twice])
    np.testing.assert_allclose(
        weighted.predict_proba(X), alone.predict_proba(X), rtol=1e-6
    )
    with pytest.raises(InputError, match="Lars takes no sample_weight"):
        lk.Ensemble([linear_model.Lars()], cv=2).fit(X, Y, sample_weight=w)


def test_bad_members_get_sentences():
    with pytest.raises(InputError, match="some members are classifiers"):
        lk.Ensemble([lk.GaussianNB(), lk.SVR()]).fit(X, Y)
    with pytest.raises(InputError, match="has no predict_proba"):
        lk.Stacking([lk.SVC(), lk.GaussianNB()]).fit(X, LABELS)
    with pytest.raises(InputError, match="one for each member"):
        lk.Ensemble([lk.SVR()], weights=[-1.0]).fit(X, Y)
    with pytest.raises(InputError, match="list of one or more"):
        lk.Ensemble([]).fit(X, Y)
