"""Cross-validation of every kind of predictor, by every kind of splitter."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn import ensemble, linear_model, preprocessing, svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline

import likely as lk
from likely.core import InputError
from likely.selection import refits

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
SIGNAL = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)
Y = {
    "numbers": SIGNAL,
    "positive": np.exp(SIGNAL),
    "counts": np.round(np.exp(SIGNAL)),
    "classes": np.where(SIGNAL > 0, "yes", "no"),
    "three": np.digitize(SIGNAL, [-0.5, 0.5]),
}
GROUPS = np.repeat(np.arange(12), 5)
W = rng.integers(0, 3, size=N).astype(float)
SCALER = preprocessing.StandardScaler()
PREDICTORS = {
    "ridge": (lambda: lk.Ridge(), "numbers"),
    "exact intervals": (lambda: lk.LinearRegression(), "numbers"),
    "counts": (lambda: lk.PoissonRegressor(), "counts"),
    "logistic": (lambda: lk.LogisticRegression(0.1), "three"),
    "null": (lambda: lk.NullRegressor(), "numbers"),
    "bayes": (lambda: lk.GaussianNB(), "classes"),
    "neighbours": (lambda: lk.KNeighborsRegressor(5), "numbers"),
    "neighbours of classes": (lambda: lk.KNeighborsClassifier(5), "three"),
    "tree": (lambda: lk.DecisionTreeRegressor(max_depth=2), "numbers"),
    "boosting": (lambda: lk.GradientBoostingClassifier(n_estimators=3), "classes"),
    "margins": (lambda: lk.SVC(probability=True), "classes"),
    "tube": (lambda: lk.SVR(), "numbers"),
    "network": (
        lambda: lk.MLPRegressor((2,), max_iter=5, tol=1.0, alpha=0.1),
        "numbers",
    ),
    "logarithm": (lambda: lk.LogTarget(lk.Ridge()), "positive"),
    "counts around means": (
        lambda: lk.CountTarget(lk.KNeighborsRegressor(5)),
        "counts",
    ),
    "votes": (lambda: lk.SmoothedClassifier(lk.KNeighborsClassifier(5)), "classes"),
    "ensemble": (
        lambda: lk.Ensemble([lk.GaussianNB(), lk.NullClassifier()]),
        "classes",
    ),
    "scikit-learn forest": (lambda: ensemble.RandomForestRegressor(3), "numbers"),
    "scikit-learn logistic": (lambda: linear_model.LogisticRegression(), "three"),
    "pipeline": (lambda: make_pipeline(SCALER, lk.Ridge()), "numbers"),
    "scikit-learn pipeline": (
        lambda: make_pipeline(SCALER, linear_model.Ridge()),
        "numbers",
    ),
    "pipeline of classes": (lambda: make_pipeline(SCALER, lk.GaussianNB()), "classes"),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_predictor_is_judged_and_left_alone(name):
    make, kind = PREDICTORS[name]
    model = make()
    before = dict(vars(model))
    splitter = StratifiedKFold(3) if kind in ("classes", "three") else KFold(3)
    found = lk.cross_validate(model, X, Y[kind], cv=splitter)
    assert found.nll.shape == (1, 3)
    assert np.isfinite(found.nll).all()
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict(X)
    point = name in ("tube", "scikit-learn forest", "scikit-learn pipeline")
    if not hasattr(model, "nll") or point:
        return
    for j, (train, out) in enumerate(splitter.split(X, Y[kind])):
        one = clone(model).fit(X[train], Y[kind][train])
        np.testing.assert_allclose(
            found.nll[0, j], one.nll(X[out], Y[kind][out]), rtol=1e-5
        )


WEIGHTED = ["exact intervals", "logistic", "tree", "logarithm", "votes", "ensemble",
            "scikit-learn logistic", "pipeline", "pipeline of classes"]  # fmt: skip
"""Those whose fit has no folds or draws of its own."""


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_is_a_repetition_and_zero_is_absent(name):
    make, kind = PREDICTORS[name]
    y, dirty = Y[kind], X.copy()
    dirty[W == 0] = np.nan
    fold = np.arange(N) % 3
    rows = np.repeat(np.arange(N), W.astype(int))
    cv, copies = PredefinedSplit(fold), PredefinedSplit(fold[rows])
    weighted = lk.cross_validate(make(), dirty, y, cv=cv, sample_weight=W)
    repeated = lk.cross_validate(make(), X[rows], y[rows], cv=copies)
    np.testing.assert_allclose(weighted.nll, repeated.nll, rtol=1e-4)


def test_the_program_and_the_loop_agree():
    grid, weights = {"alpha": [0.1, 1.0, 10.0]}, {"sample_weight": W}
    program = lk.cross_validate(lk.Ridge(), X, SIGNAL, grid=grid, cv=4, **weights)
    also = {**grid, "fit_intercept": [True]}
    loop = lk.cross_validate(lk.Ridge(), X, SIGNAL, grid=also, cv=4, **weights)
    assert program.phi is not None
    assert loop.phi is None
    np.testing.assert_allclose(program.nll, loop.nll, rtol=1e-8)
    assert loop.params[0] == {"alpha": 0.1, "fit_intercept": True}
    assert program.best_index == loop.best_index
    assert program.best_params == program.params[program.best_index]


def test_a_penalty_that_is_chosen_by_the_fit_is_chosen_in_each_fold():
    model = lk.Ridge("cv", alphas=[0.1, 10.0], cv=3)
    found = lk.cross_validate(model, X, SIGNAL, cv=KFold(2))
    assert found.phi is None
    for j, (train, out) in enumerate(KFold(2).split(X)):
        one = clone(model).fit(X[train], SIGNAL[train])
        np.testing.assert_allclose(
            found.nll[0, j], one.nll(X[out], SIGNAL[out]), rtol=1e-8
        )


def test_class_weights_are_those_of_the_fold_and_do_not_judge():
    y = np.where(SIGNAL > 0.7, "yes", "no")
    model = lk.LogisticRegression(1.0, class_weight="balanced")
    found = lk.cross_validate(model, X, y, cv=StratifiedKFold(3))
    for j, (train, out) in enumerate(StratifiedKFold(3).split(X, y)):
        one = clone(model).fit(X[train], y[train])
        np.testing.assert_allclose(found.nll[0, j], one.nll(X[out], y[out]), rtol=1e-6)


@pytest.mark.parametrize("model", ["Ridge", "KNeighborsRegressor"])
@pytest.mark.parametrize(
    "cv",
    [
        GroupKFold(3),
        ShuffleSplit(4, test_size=0.25, random_state=0),
        ShuffleSplit(1, train_size=0.4, test_size=0.2, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        TimeSeriesSplit(3),
        [(np.arange(30), np.arange(30, 45)), (np.arange(10, 40), [50, 51])],
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_any_splitter(model, cv):
    model = getattr(lk, model)()
    groups = GROUPS if isinstance(cv, GroupKFold) else None
    found = lk.cross_validate(model, X, SIGNAL, cv=cv, groups=groups)
    splits = cv if isinstance(cv, list) else list(cv.split(X, SIGNAL, groups))
    assert found.nll.shape == (1, len(splits))
    for j, (train, out) in enumerate(splits):
        one = clone(model).fit(X[train], SIGNAL[train])
        np.testing.assert_allclose(
            found.nll[0, j], one.nll(X[out], SIGNAL[out]), rtol=1e-8
        )
    assert np.isnan(found.standard_error).all() == (len(splits) == 1)


def test_random_and_exhausted_splitters_are_asked_once():
    splits = list(KFold(3).split(X))
    found = lk.cross_validate(
        lk.KNeighborsRegressor(3), X, SIGNAL, grid={"n_neighbors": [3, 5]},
        cv=iter(splits),
    )  # fmt: skip
    assert found.nll.shape == (2, 3)


def test_the_scale_of_a_point_regressor_comes_from_the_training_rows_alone():
    model = linear_model.Ridge(0.1)
    changed = SIGNAL.copy()
    changed[40:] += 3.0
    splits = [(np.arange(40), np.arange(40, N))]
    scales = [
        refits.inner_scale(model, refits.TableRows(X[:40], y[:40], np.ones(40)))
        for y in (SIGNAL, changed)
    ]
    assert scales[0] == scales[1]
    mean = clone(model).fit(X[:40], SIGNAL[:40]).predict(X[40:])
    for y in (SIGNAL, changed):
        found = lk.cross_validate(model, X, y, cv=splits)
        peer = -stats.norm(mean, scales[0]).logpdf(y[40:]).mean()
        np.testing.assert_allclose(found.nll[0, 0], peer, rtol=1e-8)
    assert 0.2 < scales[0] < 0.45


def test_a_point_regressor_that_memorises_is_not_thought_exact():
    """Its errors on its own training rows are zero, and the density would be a spike."""
    tree = ensemble.ExtraTreesRegressor(1, random_state=0)
    found = lk.cross_validate(tree, X, SIGNAL)
    assert (found.nll < 3.0).all()


def test_inner_folds_keep_groups_together():
    rows = refits.TableRows(X, SIGNAL, np.ones(N), GROUPS)
    for known, new in refits._inner_folds(rows):
        assert not set(known.groups) & set(new.groups)
    alone = refits.TableRows(X[:5], SIGNAL[:5], np.ones(5), np.zeros(5))
    assert len(refits._inner_folds(alone)) == refits.INNER_FOLDS
    with pytest.raises(InputError, match="one training row"):
        refits._inner_folds(rows.part(np.arange(1)))


def test_several_outputs_of_a_point_regressor():
    Y2 = np.c_[SIGNAL, 10 * X[:, 2] + rng.normal(size=N)]
    both = lk.cross_validate(linear_model.Ridge(), X, Y2, cv=KFold(3))
    each = [
        lk.cross_validate(linear_model.Ridge(), X, y, cv=KFold(3)).nll for y in Y2.T
    ]
    np.testing.assert_allclose(both.nll, each[0] + each[1], rtol=1e-8)


def test_a_grid_of_a_pipeline_on_a_frame():
    frame = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "town": np.where(W > 1, "x", "y")}
    )
    from sklearn.compose import make_column_transformer

    columns = make_column_transformer(
        (preprocessing.OneHotEncoder(), ["town"]), remainder="passthrough"
    )
    pipe = make_pipeline(columns, lk.KNeighborsRegressor())
    grid = {"kneighborsregressor__n_neighbors": [1, 10]}
    found = lk.cross_validate(pipe, frame, SIGNAL, grid=grid, cv=3)
    assert found.best_params == {"kneighborsregressor__n_neighbors": 10}
    assert found.phi is None


def test_values_of_any_type_are_not_changed():
    inner = linear_model.Ridge(5.0)
    model = lk.CountTarget(linear_model.LinearRegression(), family="poisson")
    grid = {"regressor": [inner, lk.KNeighborsRegressor()], "cv": np.array([2])}
    found = lk.cross_validate(model, X, Y["counts"], grid=grid, cv=2)
    assert found.params[0] == {"regressor": inner, "cv": 2}
    assert not hasattr(inner, "coef_")
    assert found.nll.shape == (2, 2)


def test_sparse_rows():
    dense = lk.cross_validate(lk.KNeighborsRegressor(3), X, SIGNAL, cv=3)
    sparse = lk.cross_validate(lk.KNeighborsRegressor(3), csr_array(X), SIGNAL, cv=3)
    np.testing.assert_allclose(dense.nll, sparse.nll, rtol=1e-12)


def test_a_class_that_a_fold_has_not_seen_is_nearly_impossible():
    y = np.array(["a", "b"] * (N // 2 - 1) + ["c", "c"])
    splits = [(np.arange(N - 2), np.arange(N - 4, N))]
    for model in (linear_model.LogisticRegression(), lk.KNeighborsClassifier(3)):
        found = lk.cross_validate(model, X, y, cv=splits)
        assert 100 < found.nll[0, 0] < 1000


def test_what_cannot_be_judged_gets_a_sentence():
    for model in (svm.LinearSVC(), lk.LinearSVC(), lk.Perceptron()):
        with pytest.raises(InputError, match="has no predict_proba"):
            lk.cross_validate(model, X, Y["classes"])
    nearest = make_pipeline(SCALER, linear_model.Lars())
    with pytest.raises(InputError, match="Lars takes no sample_weight"):
        lk.cross_validate(nearest, X, SIGNAL, sample_weight=W)
    for values in (1.0, "cv", []):
        with pytest.raises(InputError, match="one or more values"):
            lk.cross_validate(lk.Ridge(), X, SIGNAL, grid={"alpha": values})
