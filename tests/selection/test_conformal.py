"""Conformal regressors and classifiers: order statistics, refits, groups, coverage."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model, preprocessing
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import likely as lk
from likely import evaluate
from likely.core import InputError
from likely.selection.conformal import refits
from likely.selection.refits import TableRows

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 3))
Y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=N)
LABELS = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.6, 0.6])]
GROUPS = np.where(rng.random(N) < 0.5, "a", "b")
NEW = rng.normal(size=(30, 3))
SCALER = preprocessing.StandardScaler()


def test_a_split_is_the_corrected_order_statistic():
    order = rng.permutation(N)
    train, out = order[:40], order[40:]
    model = lk.ConformalRegressor(lk.Ridge(), cv=[(train, out)]).fit(X, Y)
    inner = lk.Ridge().fit(X[train], Y[train])
    score = np.sort(np.abs(Y[out] - inner.predict(X[out])))
    q = score[int(np.ceil(41 * 0.8)) - 1]
    low, high = model.predict_interval(NEW, 0.8)
    np.testing.assert_allclose(low, inner.predict(NEW) - q, rtol=1e-12)
    np.testing.assert_allclose(high, inner.predict(NEW) + q, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), inner.predict(NEW))
    fitted = lk.ConformalRegressor(inner, cv="prefit").fit(X[out], Y[out])
    np.testing.assert_array_equal(fitted.predict_interval(NEW, 0.8), (low, high))


PIPELINE = make_pipeline(SCALER, linear_model.Ridge(0.3))


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        pytest.param(lk.Ridge(0.3), "jackknife+", marks=pytest.mark.slow),
        pytest.param(lk.Ridge(0.3), "cross", marks=pytest.mark.slow),
        (PIPELINE, "cross"),
        (PIPELINE, "jackknife+"),
    ],
    ids=["program, rows", "program, folds", "loop, folds", "loop, rows"],
)
def test_rows_left_out_are_those_of_the_formula(estimator, method):
    folds = [np.arange(N) % 4 == k for k in range(4)]
    cv = [(np.flatnonzero(~f), np.flatnonzero(f)) for f in folds]
    model = lk.ConformalRegressor(estimator, method=method, cv=cv).fit(X, Y)
    parts = (
        cv
        if method == "cross"
        else [(np.delete(np.arange(N), i), [i]) for i in range(N)]
    )
    low, high = [], []
    for train, out in parts:
        one = clone(estimator).fit(X[train], Y[train])
        for residual in np.abs(Y[out] - one.predict(X[out])):
            low.append(one.predict(NEW) - residual)
            high.append(one.predict(NEW) + residual)
    ends = np.sort(low, axis=0)[int(0.1 * (N + 1)) - 1], np.sort(high, axis=0)[72]
    found = model.predict_interval(NEW, 0.9)
    np.testing.assert_allclose(found, ends, rtol=1e-9)
    whole = clone(estimator).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-12)


PROGRAMS = {
    "poisson": (lk.PoissonRegressor(), True),
    "quantile": (lk.QuantileRegressor(), False),
    "neighbours": (lk.KNeighborsRegressor(3), False),
    "penalty chosen by the rows": (lk.Ridge("cv", alphas=[0.1, 1.0]), False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_fits_are_one_program_where_the_learner_is_pure(name):
    estimator, pure = PROGRAMS[name]
    y = np.round(np.exp(Y[:24]))
    rows = TableRows(X[:24], y, np.ones(24))
    splits = [
        (np.arange(24)[np.arange(24) % 3 != k], np.arange(k, 24, 3)) for k in range(3)
    ]
    found, means = refits.refit_without(estimator, rows, splits)
    assert isinstance(found, refits.ProgramRefits) == pure
    if pure:
        loop, same = refits._one_by_one(estimator, rows, splits)
        np.testing.assert_allclose(means, same, rtol=1e-7)
        whole = clone(estimator).fit(X[:24], y)
        np.testing.assert_allclose(
            found.means(whole, NEW), loop.means(whole, NEW), rtol=1e-7
        )


@pytest.mark.slow
def test_programs_in_chunks_are_the_same(monkeypatch):
    one = lk.ConformalRegressor(lk.Ridge(), method="jackknife+").fit(X[:30], Y[:30])
    want = one.predict_interval(NEW, 0.8)
    monkeypatch.setattr(refits, "CHUNK_BYTES", 8 * 30 * 5 * 8)
    chunks = clone(one).fit(X[:30], Y[:30])
    np.testing.assert_allclose(chunks.predict_interval(NEW, 0.8), want, rtol=1e-9)


def test_one_copy_of_a_row_is_left_out_at_a_time():
    w = rng.integers(0, 3, N).astype(float)
    rows = np.repeat(np.arange(N), w.astype(int))
    dirty = np.where(w[:, None] == 0, np.nan, X)
    for method in ("jackknife+", "cross"):
        fold = np.arange(N) % 4
        splits = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)
        ]
        copies = [
            (np.flatnonzero(fold[rows] != k), np.flatnonzero(fold[rows] == k))
            for k in range(4)
        ]
        weighted = lk.ConformalRegressor(linear_model.Ridge(), method=method, cv=splits)
        weighted.fit(dirty, Y, sample_weight=w)
        repeated = lk.ConformalRegressor(linear_model.Ridge(), method=method, cv=copies)
        repeated.fit(X[rows], Y[rows])
        np.testing.assert_allclose(
            weighted.predict_interval(NEW), repeated.predict_interval(NEW), rtol=1e-7
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["scaled", "quantile"])
def test_methods_that_follow_the_distribution(method):
    y = np.exp(Y)
    model = lk.ConformalRegressor(lk.LogTarget(lk.Ridge()), method=method, cv=2)
    low, high = model.fit(X, y).predict_interval(NEW, 0.8)
    assert (low < high).all()
    assert np.corrcoef(high - low, model.predict(NEW))[0, 1] > 0.95
    point = lk.ConformalRegressor(linear_model.Ridge(), method=method)
    with pytest.raises(InputError, match="Ridge has no predict_dist"):
        point.fit(X, y)


def test_quantiles_of_regressors_that_have_a_level():
    for estimator in (
        lk.QuantileRegressor(),
        make_pipeline(
            SCALER, ensemble.GradientBoostingRegressor(n_estimators=5, loss="quantile")
        ),
    ):
        model = lk.ConformalRegressor(
            estimator, method="quantile", cv=2, levels=(0.1, 0.9)
        )
        low, high = model.fit(X, Y).predict_interval(NEW, 0.8)
        assert (low <= high).all()
        levels = [m.get_params() for m in model.quantiles_]
        name = "quantile" if len(levels[0]) < 12 else "gradientboostingregressor__alpha"
        assert [one[name] for one in levels] == [0.1, 0.9]
    with pytest.raises(InputError, match="two rising numbers"):
        lk.ConformalRegressor(estimator, method="quantile", levels=(0.9, 0.1)).fit(X, Y)


def test_groups_have_scores_of_their_own():
    y = np.where(GROUPS == "a", 5.0, 1.0) * rng.normal(size=N)
    model = lk.ConformalRegressor(lk.Ridge(), cv=2).fit(X, y, groups=GROUPS)
    both = np.repeat(["a", "b"], 15)
    low, high = model.predict_interval(NEW, 0.8, groups=both)
    width = high - low
    assert width[:15].min() > 2 * width[15:].max()
    crossed = lk.ConformalRegressor(lk.Ridge(), method="cross").fit(X, y, groups=GROUPS)
    low, high = crossed.predict_interval(NEW, 0.8, groups=both)
    assert (high - low)[:15].min() > 2 * (high - low)[15:].max()
    with pytest.warns(UserWarning, match="a group that the fit did not see"):
        low, high = model.predict_interval(NEW[:2], 0.8, groups=["a", "c"])
    assert np.isinf(high).tolist() == [False, True]
    for options in ({}, {"groups": ["a"]}):
        with pytest.raises(InputError, match="groups"):
            model.predict_interval(NEW, 0.8, **options)


def test_too_few_rows_warn_and_reach_infinitely_far():
    model = lk.ConformalRegressor(lk.Ridge(), cv=2).fit(X[:8], Y[:8])
    with pytest.warns(
        UserWarning, match="has 4 calibration rows, and a coverage of 0.9 needs 9"
    ):
        low, high = model.predict_interval(NEW, 0.9)
    assert np.isinf(low).all()
    low, high = model.predict_interval(NEW, 0.8)
    assert np.isfinite(high - low).all()
    for coverage in (0.0, 1.0):
        with pytest.raises(InputError, match="between 0 and 1"):
            model.predict_interval(NEW, coverage)
    fitted = lk.Ridge().fit(X, Y)
    with pytest.raises(InputError, match='use method="split"'):
        lk.ConformalRegressor(fitted, method="cross", cv="prefit").fit(X, Y)


@pytest.mark.parametrize("method", ["threshold", "adaptive"])
@pytest.mark.parametrize("cross", [False, True])
def test_sets_of_classes(method, cross):
    estimator = make_pipeline(SCALER, lk.GaussianNB())
    model = lk.ConformalClassifier(estimator, method=method, cross=cross, cv=2)
    model.fit(X, LABELS)
    small, large = (model.predict_set(NEW, c) for c in (0.6, 0.9))
    assert (small <= large).all()
    assert small.sum() < large.sum()
    np.testing.assert_array_equal(large, model.predict_set(NEW, 0.9))
    np.testing.assert_allclose(
        model.predict_proba(NEW), model.estimator_.predict_proba(NEW), rtol=1e-9
    )
    if not cross and method == "threshold":
        q = evaluate.radius(model.scores_, 0.9)
        np.testing.assert_array_equal(large, 1 - model.predict_proba(NEW) <= q)


def test_sets_that_cover_every_class_and_group():
    Z = rng.normal(size=(1700, 2))
    y = (Z[:, 0] + rng.normal(size=1700) > 1.4).astype(int)  # one class is rare
    groups = np.where(Z[:, 1] > 0, "a", "b")
    options = {"cv": "prefit", "by_class": True}
    fitted = lk.GaussianNB().fit(Z[:200], y[:200])
    model = lk.ConformalClassifier(fitted, **options)
    sets = model.fit(Z[200:1200], y[200:1200]).predict_set(Z[1200:], 0.8)
    plain = lk.ConformalClassifier(fitted, cv="prefit").fit(Z[200:1200], y[200:1200])
    rare = y[1200:] == 1
    assert sets[rare, 1].mean() > 0.7
    assert plain.predict_set(Z[1200:], 0.8)[rare, 1].mean() < 0.5
    model.fit(Z[200:1200], y[200:1200], groups=groups[200:1200])
    sets = model.predict_set(Z[1200:], 0.8, groups=groups[1200:])
    for g in ("a", "b"):
        own = rare & (groups[1200:] == g)
        assert sets[own, 1].mean() > 0.6
    few = lk.ConformalClassifier(fitted, **options).fit(Z[:30], y[:30])
    with pytest.warns(UserWarning, match="calibration rows of class 1"):
        assert few.predict_set(Z[:5], 0.9)[:, 1].all()


def test_wrappers_are_savable_searchable_and_take_frames(tmp_path):
    model = lk.ConformalRegressor(lk.Ridge(), method="jackknife+").fit(X[:20], Y[:20])
    model.save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(
        loaded.predict_interval(NEW, 0.8), model.predict_interval(NEW, 0.8)
    )
    quantile = lk.ConformalRegressor(lk.KNeighborsRegressor(5), method="quantile", cv=2)
    quantile.fit(X, Y).save(tmp_path / "other.likely")
    np.testing.assert_array_equal(
        lk.load(tmp_path / "other.likely").predict_interval(NEW, 0.7),
        quantile.predict_interval(NEW, 0.7),
    )
    grid = {"estimator__alpha": [0.1, 1e6]}
    search = GridSearchCV(lk.ConformalRegressor(lk.Ridge(), cv=2), grid, cv=2)
    assert search.fit(X, Y).best_params_ == {"estimator__alpha": 0.1}
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for method in ("split", "cross"):
        found = lk.ConformalRegressor(lk.Ridge(), method=method).fit(frame, Y)
        low, high = found.predict_interval(pd.DataFrame(NEW, columns=["a", "b", "c"]))
        assert (low < high).all()
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
