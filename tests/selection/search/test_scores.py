"""Scores of searches are those of scikit-learn and of single fits, however they are computed."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import datasets, linear_model, model_selection
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

import likely as lk
from likely.estimators.linear.fitting import many_fits
from likely.selection.search.batches import MAX_SETTINGS, batches

rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 3))
Y = X @ [1.0, -2.0, 0.5] + rng.normal(size=N)
LABELS = np.where(Y + rng.normal(size=N) > 0, "yes", "no")
W = rng.integers(0, 3, size=N).astype(float)
ALPHAS = [0.1, 1.0, 10.0]


def columns(search):
    table = search.cv_results_
    return np.stack([table[f"split{j}_test_score"] for j in range(search.n_splits_)], 1)


@pytest.mark.parametrize(
    "scoring",
    ["r2", "neg_mean_squared_error", "neg_root_mean_squared_error",
     "neg_mean_absolute_error", "explained_variance"],
)  # fmt: skip
def test_ridge_has_the_scores_of_scikit_learn(scoring):
    X, Y = datasets.load_diabetes(return_X_y=True)
    grid = {"alpha": np.logspace(-3, 2, 7)}
    ours = lk.GridSearch(lk.Ridge(), grid, scoring=scoring, cv=4).fit(X, Y)
    peer = model_selection.GridSearchCV(
        linear_model.Ridge(), grid, scoring=scoring, cv=4
    ).fit(X, Y)
    np.testing.assert_allclose(columns(ours), columns(peer), rtol=1e-9)
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], peer.cv_results_[name])
    assert set(peer.cv_results_) < set(ours.cv_results_)
    assert ours.cv_results_["params"] == peer.cv_results_["params"]
    assert ours.best_params_ == peer.best_params_
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-9)
    np.testing.assert_allclose(ours.score(X, Y), peer.score(X, Y))


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", "accuracy", "roc_auc", "balanced_accuracy"]
)
def test_logistic_regression_has_the_scores_of_scikit_learn(scoring):
    X, y = datasets.load_iris(return_X_y=True)
    X, labels = X[50:], np.array(["red", "blue"])[y[50:] - 1]
    grid = {"C": [0.1, 1.0]}
    ours = lk.GridSearch(lk.LogisticRegression(), grid, scoring=scoring, cv=3)
    peer = model_selection.GridSearchCV(
        linear_model.LogisticRegression(tol=1e-10), grid, scoring=scoring, cv=3
    )
    np.testing.assert_allclose(
        columns(ours.fit(X, labels)), columns(peer.fit(X, labels)), rtol=1e-6
    )
    if scoring == "neg_log_loss":
        nats = clone(ours).set_params(scoring=None).fit(X, labels)
        np.testing.assert_allclose(columns(nats), columns(ours), rtol=1e-9)


CV = [
    (3, "ridge"),
    (RepeatedKFold(n_splits=2, n_repeats=2, random_state=0), "ridge"),
    (GroupKFold(3), "ridge"),
    (TimeSeriesSplit(4), "ridge"),
    (ShuffleSplit(4, train_size=0.5, random_state=0), "ridge"),
    (KFold(2), "pipeline"),
    (StratifiedKFold(2), "classes"),
]


@pytest.mark.parametrize(("cv", "kind"), CV, ids=str)
def test_folds_of_every_kind_judge_as_single_fits_do(cv, kind):
    model, y, name = lk.Ridge(), Y, "alpha"
    if kind == "pipeline":
        model, name = make_pipeline(StandardScaler(), lk.Ridge()), "ridge__alpha"
    if kind == "classes":
        model, y, name = lk.GaussianNB(), LABELS, "var_smoothing"
    groups = np.arange(N) // 6 if isinstance(cv, GroupKFold) else None
    found = lk.GridSearch(model, {name: ALPHAS}, cv=cv)
    found.fit(X, y, sample_weight=W, groups=groups)
    here = np.flatnonzero(W)
    splitter = KFold(cv) if cv == 3 else cv
    own = None if groups is None else groups[here]
    splits = list(splitter.split(X[here], y[here], own))
    assert found.n_splits_ == len(splits)
    i, last = 2, [name.rpartition("__")[0]]
    for j in (0, len(splits) - 1):
        train, out = (here[side] for side in splits[j])
        one = clone(model).set_params(**{name: ALPHAS[i]})
        steps = {"sample_weight": W[train]}
        if kind == "pipeline":
            steps = {f"{s}__sample_weight": W[train] for s in ("standardscaler", *last)}
        one.fit(X[train], y[train], **steps)
        Z = X[out]
        if kind == "pipeline":
            one, Z = one[-1], one[:-1].transform(Z)
        nats = one.nll(Z, y[out], sample_weight=W[out])
        np.testing.assert_allclose(columns(found)[i, j], -nats, rtol=1e-6)


def test_a_weight_is_a_repetition_and_zero_is_absent():
    rows = np.repeat(np.arange(N), W.astype(int))
    fold = np.arange(N) % 3
    dirty = X.copy()
    dirty[W == 0] = np.nan
    splits = [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(3)]
    copies = [tuple(np.flatnonzero(np.isin(rows, side)) for side in s) for s in splits]
    for scoring in (None, "r2", "neg_median_absolute_error"):
        search = lk.GridSearch(
            lk.Ridge(), {"alpha": ALPHAS}, scoring=scoring, cv=splits
        )
        many = clone(search).set_params(cv=copies)
        if scoring != "neg_median_absolute_error":
            search.fit(dirty, Y, sample_weight=W)
            many.fit(X[rows], Y[rows])
            np.testing.assert_allclose(columns(search), columns(many), rtol=1e-8)
            np.testing.assert_allclose(search.predict(X), many.predict(X), rtol=1e-8)


def test_settings_that_differ_in_numbers_alone_go_together():
    ridge = lk.Ridge()
    grid = [
        {"alpha": a, "fit_intercept": b} for a in (0.1, 1.0, 2.0) for b in (True, False)
    ]
    assert batches(ridge, grid) == [[0, 2, 4], [1, 3, 5]]
    pipe = make_pipeline(StandardScaler(), lk.Ridge())
    steps = [
        {"ridge__alpha": 0.1, "standardscaler__with_std": True},
        {"ridge__alpha": 1.0, "standardscaler__with_std": True},
        {"ridge__alpha": 1.0, "standardscaler__with_std": False},
    ]
    assert batches(pipe, steps) == [[0, 1], [2]]
    assert batches(linear_model.Ridge(), [{"alpha": 1.0}, {"alpha": 2.0}]) == [[0], [1]]
    odd = [{"alpha": 1.0}, {"alpha": "cv"}, {"alpha": 2.0}]
    assert batches(ridge, odd) == [[0, 2], [1]]
    swapped = [{"ridge": lk.GaussianNB()}, {"ridge__alpha": 2.0}, {"ridge__alpha": 3.0}]
    assert batches(pipe, swapped) == [[0], [1, 2]]
    many = [{"alpha": float(i)} for i in range(MAX_SETTINGS + 3)]
    assert [len(b) for b in batches(ridge, many)] == [MAX_SETTINGS, 3]


def test_a_mixed_grid_equals_its_single_trials():
    grid = {"alpha": ALPHAS, "fit_intercept": [True, False]}
    found = lk.GridSearch(lk.Ridge(), grid, cv=3).fit(X, Y)
    for trial in found.trials_:
        alone = lk.cross_validate(lk.Ridge(**trial.params), X, Y, cv=3)
        np.testing.assert_allclose(trial.scores, -alone.nll[0], rtol=1e-9)


def test_functions_judge_estimators_and_frames_stay_frames():
    seen = []

    def spread(model, X, y):
        seen.append((type(model).__name__, type(X).__name__))
        return -float(np.std(y - model.predict(X)))

    frame = pd.DataFrame(X, columns=list("abc"))
    found = lk.GridSearch(lk.Ridge(), {"alpha": ALPHAS}, scoring=spread, cv=2)
    found.fit(frame, Y)
    assert set(seen) == {("Ridge", "DataFrame")}
    assert list(found.feature_names_in_) == list("abc")
    with pytest.raises(lk.core.InputError, match="takes no sample_weight"):
        found.set_params(error_score="raise").fit(frame, Y, sample_weight=W + 1)
    assert found.best_score_ == max(t.mean for t in found.trials_)


def test_steps_that_fit_and_transform_differently_are_treated_as_in_a_fit():
    """A target encoder encodes its own rows by folds, and new rows by all."""
    town = rng.choice(list("uvw"), size=(N, 1))
    pipe = make_pipeline(TargetEncoder(cv=KFold(3)), lk.Ridge())
    found = lk.GridSearch(pipe, {"ridge__alpha": [1.0]}, cv=KFold(2)).fit(town, Y)
    for j, (train, out) in enumerate(KFold(2).split(town)):
        one = clone(pipe).fit(town[train], Y[train])
        nats = one[-1].nll(one[:-1].transform(town[out]), Y[out])
        np.testing.assert_allclose(columns(found)[0, j], -nats, rtol=1e-8)


def test_predictors_of_numbers_get_the_scale_of_their_held_out_errors():
    found = lk.GridSearch(linear_model.Ridge(), {"alpha": [1.0]}, cv=2).fit(X, Y)
    mean = found.best_estimator_.predict(X)
    expected = stats.norm(mean, found.scale_).logpdf(Y)
    np.testing.assert_allclose(found.predict_dist(X).log_prob(Y), expected)
    np.testing.assert_allclose(found.nll(X, Y), -expected.mean())
    low, high = found.predict_interval(X, coverage=0.9)
    assert 0.8 < np.mean((low < Y) & (high > Y)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.3, 30.0], ids=["far from", "nearly"])
def test_many_logistic_fits_with_few_hessians_equal_single_ones(slope, monkeypatch):
    """Classes that are nearly separated need the second stage, Newton's."""
    monkeypatch.setattr(many_fits, "MIN_STAGED_WORK", 0)
    Z = rng.normal(size=(400, 16))
    p = 1 / (1 + np.exp(-slope * Z @ rng.normal(size=16)))
    y = (rng.random(400) < p).astype(int)
    alphas = [1e-3, 1e-1, 10.0]
    found = lk.cross_validate(
        lk.LogisticRegression(), Z, y, grid={"alpha": alphas}, cv=2
    )
    for j, (train, out) in enumerate(StratifiedKFold(2).split(Z, y)):
        for i, alpha in enumerate(alphas):
            one = lk.LogisticRegression(alpha).fit(Z[train], y[train])
            np.testing.assert_allclose(
                found.phi.model.weight[i, j, :, 0], one.coef_[0], rtol=1e-6, atol=1e-7
            )
            nats = one.nll(Z[out], y[out])
            np.testing.assert_allclose(found.nll[i, j], nats, rtol=1e-6)
