"""Absent rows are in no fold: added anywhere, they change no bit of a choice."""

import inspect

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, parameters
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
)

import likely as lk
from likely.evaluate.cross_validation import cv_splits

N, MORE = 30, 12
rng = np.random.default_rng(5)
X = rng.normal(size=(N, 2))
SIGNAL = X[:, 0] + 0.4 * rng.normal(size=N)
Y = {
    "numbers": SIGNAL,
    "positive": np.exp(SIGNAL),
    "counts": rng.poisson(np.exp(0.3 * SIGNAL)).astype(float),
    "classes": np.where(SIGNAL > 0, "a", "b"),
}
PRESENT = np.sort(rng.permutation(N + MORE)[:N])
W = np.zeros(N + MORE)
W[PRESENT] = 1.0
CHOOSING = [
    name
    for name, entry in ESTIMATORS.items()
    if entry.kind in Y and {"alpha", "alphas", "cv"} <= set(entry.make().get_params())
]


def among_absent(values):
    """The rows with others between them that hold garbage."""
    rest = np.nan if values.dtype.kind == "f" else values[0]
    found = np.full((N + MORE, *values.shape[1:]), rest, values.dtype)
    found[PRESENT] = values
    return found


QUICK = ("ridge", "lasso")
"""Estimators that are fitted without a program of their own for each shape of rows."""


def test_there_are_estimators_that_choose():
    assert len(CHOOSING) > 6
    assert set(QUICK) < set(CHOOSING)


@pytest.mark.parametrize("name", parameters(CHOOSING, slow=set(CHOOSING) - set(QUICK)))
@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0)], ids=str)
def test_the_strength_is_chosen_without_absent_rows(name, cv):
    entry = ESTIMATORS[name]
    y, settings = Y[entry.kind], {"alpha": "cv", "alphas": [0.01, 1.0], "cv": cv}
    model, other = (entry.make().set_params(**settings) for _ in range(2))
    model.fit(X, y)
    other.fit(among_absent(X), among_absent(y), sample_weight=W)
    np.testing.assert_array_equal(model.cv_nll_, other.cv_nll_)
    assert model.alpha_ == other.alpha_


SPLITTERS = [
    4,
    KFold(3),
    ShuffleSplit(2, random_state=0),
    TimeSeriesSplit(2),
    GroupKFold(3),
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_folds_are_those_of_the_present_rows(cv, kind):
    y, groups, classes = Y[kind], np.arange(N) // 4, kind == "classes"
    more = np.zeros(N + MORE, int)
    more[PRESENT] = groups
    if not isinstance(cv, GroupKFold):
        groups = more = None
    few = cv_splits(cv, y, X, groups=groups, classes=classes)
    rows = among_absent(y), among_absent(X)
    many = cv_splits(cv, *rows, groups=more, w=W, classes=classes)
    for (train, out), (others, held) in zip(few, many, strict=True):
        np.testing.assert_array_equal(PRESENT[train], others)
        np.testing.assert_array_equal(PRESENT[out], held)


def test_splits_that_name_rows_are_taken_as_they_are():
    named = [(np.arange(20), np.arange(20, 30))]
    fold = PredefinedSplit(np.arange(N) % 2)
    w = np.r_[0.0, np.ones(N - 1)]
    for cv in (named, fold):
        plain = cv_splits(cv, SIGNAL, classes=False)
        for a, b in zip(plain, cv_splits(cv, SIGNAL, classes=False, w=w), strict=True):
            np.testing.assert_array_equal(a[0], b[0])


@pytest.mark.parametrize("cv", [3, ShuffleSplit(2, random_state=0)], ids=str)
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: lk.Ridge(), "numbers"),
        (lambda: lk.KNeighborsRegressor(3), "numbers"),
        (lambda: lk.GaussianNB(), "classes"),
    ],
    ids=["program", "loop", "classes"],
)
def test_cross_validation_does_not_see_absent_rows(make, kind, cv):
    few = lk.cross_validate(make(), X, Y[kind], cv=cv)
    rows = among_absent(X), among_absent(Y[kind])
    many = lk.cross_validate(make(), *rows, cv=cv, sample_weight=W)
    np.testing.assert_array_equal(few.nll, many.nll)


@pytest.mark.parametrize("mixture", [lk.Stacking, lk.Ensemble])
def test_mixtures_do_not_see_absent_rows(mixture):
    members = [lk.Ridge(), lk.KNeighborsRegressor(3)]
    few = mixture(members).fit(X, SIGNAL)
    many = mixture(members)
    many.fit(among_absent(X), among_absent(SIGNAL), sample_weight=W)
    np.testing.assert_array_equal(few.weights_, many.weights_)
    np.testing.assert_array_equal(few.scales_, many.scales_)
    np.testing.assert_array_equal(few.predict(X), many.predict(X))


def test_every_splitting_function_of_ours_takes_weights():
    for name in ("k_fold", "stratified_k_fold", "grouped_k_fold", "time_folds"):
        parameters = inspect.signature(getattr(lk.evaluate, name)).parameters
        assert "sample_weight" in parameters
