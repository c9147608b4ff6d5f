"""From votes to probabilities, and rows held out: what they keep and what they learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import likely as lk
from likely.base.calibration import Calibration, calibrate, log_of, rates_in_order
from likely.base.held_out import error_variance, held_out_shares, unseen_with_twins

rng = np.random.default_rng(0)
VOTING = {
    "tree": lk.DecisionTreeClassifier(),
    "forest": lk.RandomForestClassifier(10),
    "forest without bootstraps": lk.RandomForestClassifier(10, bootstrap=False),
    "boosting": lk.GradientBoostingClassifier(n_estimators=5),
    "bagging": lk.BaggingClassifier(),
    "bagging without bootstraps": lk.BaggingClassifier(n_estimators=2, bootstrap=False),
    "neighbours": lk.KNeighborsClassifier(),
    "naive bayes": lk.GaussianNB(),
}


@pytest.mark.parametrize("c", [2, 3, 6])
def test_the_order_of_votes_is_kept_ties_included(c):
    votes = rng.dirichlet(np.full(c, 0.3), size=500).round(1)
    votes[votes.sum(1) == 0] = 1 / c
    rates = rng.dirichlet(np.ones(c))
    for T, share in ((0.5, 0.3), (1.0, 0.0), (3.0, 0.98)):
        p = Calibration(T, share, rates).probabilities(log_of(votes))
        np.testing.assert_allclose(p.sum(1), 1)
        np.testing.assert_array_equal(p.argmax(1), votes.argmax(1))
        order = np.argsort(votes, axis=1, kind="stable")
        more = np.diff(np.take_along_axis(votes, order, 1)) > 0
        rises = np.diff(np.take_along_axis(p, order, 1)) > -1e-12
        if share:
            assert rises[more].all()


def test_base_rates_are_those_where_the_order_allows_it():
    rates = np.array([0.2, 0.7, 0.1])
    found = rates_in_order(rates, log_of(np.array([[0.3, 0.6, 0.1], [0.0, 0.0, 1.0]])))
    np.testing.assert_allclose(found[0], rates)
    np.testing.assert_allclose(found[1], np.array([0.2, 0.7, 0.7]) / 1.6)


def test_a_calibration_recovers_the_temperature_and_survives_none_held_out():
    logits = 2 * rng.normal(size=(4000, 3))
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    codes = (rng.random((4000, 1)) > p.cumsum(1)).sum(1)
    found = calibrate(4 * logits, codes, np.ones(4000), np.full(3, 1 / 3))
    assert found.temperature == pytest.approx(4.0)
    assert found.share < 0.02
    none = calibrate(logits[:0], codes[:0], np.ones(0), np.full(3, 1 / 3))
    assert none.probabilities(log_of(np.array([[1.0, 0, 0]]))).min() > 0.1


def test_parts_are_a_function_of_what_rows_hold():
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    w = 1.0 + np.arange(40) % 3
    shares = held_out_shares(X, y, w)
    np.testing.assert_allclose(shares.sum(0), 1)
    assert set(shares.ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(shares.sum(1), 8)
    order = rng.permutation(40)
    np.testing.assert_array_equal(
        held_out_shares(X[order], y[order], w[order]), shares[:, order]
    )
    units = held_out_shares(1e8 + 0.1 * X, -3 * y, w)
    np.testing.assert_array_equal(units, shares)
    twice = np.repeat(np.arange(40), w.astype(int))
    again = held_out_shares(X[twice], y[twice], np.ones(len(twice)))
    np.testing.assert_array_equal(again, shares[:, twice])


def test_inputs_that_recur_often_are_assigned_one_by_one():
    X, y = np.zeros((10, 1)), np.r_[np.zeros(6), np.ones(4)]
    w = np.full(10, 2.0)
    shares = held_out_shares(X, y, w)
    np.testing.assert_allclose(shares.sum(0), 1)
    np.testing.assert_allclose(shares @ w, 4, atol=1)
    assert ((shares > 0) & (shares < 1)).any()


def test_a_row_whose_copy_was_seen_was_seen():
    X = np.array([[1.0], [1.0], [2.0]])
    unseen = np.array([[True, False, True], [True, True, False]])
    found = unseen_with_twins(unseen, X, np.ones(3))
    np.testing.assert_array_equal(found, [[False, False, True], [True, True, False]])


def test_the_variance_of_errors_is_never_zero_and_wide_where_they_are_few():
    y, w = np.full(5, 3.0), np.ones(5)
    assert 0 < error_variance(np.zeros(5), w, y, w) < 1e-12
    y = rng.normal(size=50)
    few = error_variance(np.full(3, 0.1), np.ones(3), y, np.ones(50))
    assert few > 0.2 * y.var()
    many = error_variance(np.full(50, 0.1), np.ones(50), y, np.ones(50))
    np.testing.assert_allclose(many, 0.01)


@pytest.mark.parametrize("name", VOTING)
def test_predictions_are_those_of_the_votes_and_probabilities_better(name):
    X, y = map(np.asarray, datasets.load_wine(return_X_y=True))
    train = np.arange(len(y)) % 3 > 0
    model = VOTING[name].fit(X[train], y[train])
    votes, p = model.votes(X[~train]), model.predict_proba(X[~train])
    np.testing.assert_array_equal(model.predict(X[~train]), votes.argmax(1))
    np.testing.assert_array_equal(p.argmax(1), votes.argmax(1))
    own = np.take_along_axis(np.maximum(votes, 1e-12), y[~train, None], 1)
    assert model.nll(X[~train], y[~train]) < -np.log(own).mean() + 0.12
    assert p.min() > 1e-4


@pytest.mark.parametrize("bootstrap", [True, False])
def test_absent_rows_change_no_scale(bootstrap):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    w = (np.arange(60) % 3 > 0).astype(float)
    dirty = np.where(w[:, None] > 0, X, 1e9)
    here = w > 0
    for kind in (lk.RandomForestRegressor, lk.BaggingRegressor):
        model = kind(n_estimators=2, bootstrap=bootstrap)
        absent = model.fit(dirty, np.where(here, y, np.nan), w).scale_
        assert absent == model.fit(X[here], y[here]).scale_


def test_weights_are_repetition_in_what_is_held_out():
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    w = np.arange(50) % 3
    twice = np.repeat(np.arange(50), w)
    kinds = (lk.DecisionTreeRegressor, lk.KNeighborsRegressor)
    for kind in kinds:
        weighted, repeated = kind().fit(X, y, w), kind().fit(X[twice], y[twice])
        np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-9)
    labels = (y > 0).astype(int)
    for kind in (lk.DecisionTreeClassifier, lk.GaussianNB, lk.KNeighborsClassifier):
        weighted = kind().fit(X, labels, w)
        repeated = kind().fit(X[twice], labels[twice])
        assert weighted.temperature_ == repeated.temperature_
        assert weighted.base_share_ == repeated.base_share_


def test_draws_that_miss_classes_are_votes_too():
    X = rng.normal(size=(20, 2))
    y = np.array(["rare", *["common"] * 19])
    bag = lk.BaggingClassifier(n_estimators=30, oob_score=True).fit(X, y)
    assert bag.single_votes_[0] > 5  # a third of the draws misses the one row
    assert len(bag.estimators_) + bag.single_votes_.sum() == 30
    votes = bag.votes(X)
    np.testing.assert_allclose(votes.sum(1), 1)
    members = sum(m.predict_proba(X)[:, 1] > 0.5 for m in bag.estimators_)
    np.testing.assert_allclose(votes[:, 1], members / 30)
    assert np.isfinite(bag.nll(X, y))
    three = np.array(["a", "b", "b", "c", "c", "c"] * 2)
    bag = lk.BaggingClassifier(n_estimators=20, max_samples=2).fit(X[:12], three)
    np.testing.assert_allclose(bag.predict_proba(X).sum(1), 1)


@pytest.mark.parametrize("name", VOTING)
def test_columns_are_asked_for_by_name(name):
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X, columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = VOTING[name].fit(frame, y)
        for ask in (model.predict, model.predict_dist, model.votes):
            ask(frame)
        assert model.nll(frame, y) < 1
        assert model.score(frame, y) > 0.5
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a"]])
