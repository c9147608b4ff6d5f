"""Recalibrated classifiers and regressors, around estimators of any make."""

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, neural_network, preprocessing, svm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import likely as lk
from likely import evaluate
from likely.core import InputError

rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 3))
SIGNAL = X[:, 0] + 0.5 * X[:, 1] + 0.6 * rng.normal(size=N)
LABELS = np.array(["low", "middle", "top"])[np.digitize(SIGNAL, [-0.6, 0.6])]
W = rng.integers(0, 3, size=N).astype(float)
METHODS = ["temperature", "platt", "sigmoid", "isotonic"]


class OneClass(ClassifierMixin, BaseEstimator):
    """Predicts one class, without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "estimator",
    [lk.GaussianNB(), make_pipeline(preprocessing.StandardScaler(), svm.LinearSVC())],
    ids=["ours", "scikit-learn, without probabilities"],
)
def test_classifiers(method, estimator):
    model = lk.RecalibratedClassifier(estimator, method=method, cv=3)
    model.fit(X, LABELS)
    before, after = model.held_out_
    assert after <= before + 1e-9
    probs = model.predict_proba(X)
    np.testing.assert_allclose(probs.sum(1), 1, rtol=1e-9)
    assert model.score(X, LABELS) > 0.6
    assert np.isfinite(model.nll(X, LABELS))
    assert set(model.predict(X)) <= set(LABELS)
    if method == "temperature":
        inner = clone(estimator).fit(X, LABELS)
        np.testing.assert_array_equal(model.predict(X), inner.predict(X))


def test_the_map_is_fitted_to_held_out_rows():
    folds = list(KFold(3).split(X))
    model = lk.RecalibratedClassifier(lk.GaussianNB(), cv=folds).fit(X, LABELS)
    codes = np.searchsorted(model.classes_, LABELS)
    probs = np.empty((N, 3))
    for train, out in folds:
        probs[out] = lk.GaussianNB().fit(X[train], LABELS[train]).predict_proba(X[out])
    T = evaluate.temperature(codes, probs)
    assert model.temperature_ == pytest.approx(T, rel=1e-6)
    want = evaluate.temperature_scaled(
        lk.GaussianNB().fit(X, LABELS).predict_proba(X), T
    )
    np.testing.assert_allclose(model.predict_proba(X), want, rtol=1e-6)


def test_a_fitted_estimator_is_corrected_by_all_rows_and_left_alone():
    inner = linear_model.LogisticRegression(C=1e6).fit(X[:30], LABELS[:30])
    models = [
        lk.RecalibratedClassifier(inner, cv="prefit"),
        lk.RecalibratedClassifier(FrozenEstimator(inner)),
    ]
    for model in models:
        model.fit(X[30:], LABELS[30:])
        codes = np.searchsorted(inner.classes_, LABELS[30:])
        T = evaluate.temperature(codes, inner.predict_proba(X[30:]))
        assert model.temperature_ == pytest.approx(T, rel=1e-9)
    assert models[0].estimator_ is inner
    two = LABELS[30:] != "middle"  # the estimator knows a third class
    some = models[0].fit(X[30:][two], LABELS[30:][two])
    assert some.predict_proba(X).shape == (N, 3)
    with pytest.raises(InputError, match="'other', which is not among the classes"):
        models[0].fit(X, np.where(LABELS == "low", "other", LABELS))


def test_an_overconfident_network_is_calibrated_threefold():
    """The debiased calibration errors, top label and classwise, on rows of their own."""
    draw = np.random.default_rng(1)
    Z = draw.normal(size=(3300, 10))
    p = 1 / (1 + np.exp(-1.5 * Z[:, 0]))
    y = (draw.random(3300) < p).astype(int)
    net = neural_network.MLPClassifier(
        (20,), solver="lbfgs", alpha=0.0, max_iter=150, random_state=0
    )
    net.fit(Z[:300], y[:300])
    for method in ("temperature", "platt", "isotonic"):
        model = lk.RecalibratedClassifier(net, method=method, cv="prefit")
        model.fit(Z[300:1300], y[300:1300])
        for error in (evaluate.top_label_error, evaluate.classwise_error):
            before, after = (
                error(y[1300:], m.predict_proba(Z[1300:]), n_resamples=0).debiased
                for m in (net, model)
            )
            assert before > 0.15
            assert after < before / 3


HEAVY = SIGNAL + 2.0 * rng.standard_t(3, size=N)
SCALED = make_pipeline(preprocessing.StandardScaler(), lk.Ridge())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["scale", "quantile"])
@pytest.mark.parametrize(
    "estimator", [lk.SVR(), SCALED], ids=["a number", "a pipeline"]
)
def test_regressors(estimator, method):
    model = lk.RecalibratedRegressor(estimator, method=method, cv=3).fit(X, HEAVY)
    assert model.held_out_[1] <= model.held_out_[0] + 1e-9
    low, high = model.predict_interval(X, 0.8)
    assert 0.6 < np.mean((low <= HEAVY) & (high >= HEAVY)) < 0.95
    assert np.isfinite(model.nll(X, HEAVY))


def test_intervals_that_are_too_narrow_are_stretched():
    narrow = lk.KNeighborsRegressor(5).fit(X, SIGNAL)
    model = lk.RecalibratedRegressor(narrow, cv="prefit").fit(X, HEAVY)
    assert model.stretch_ > 1.5
    np.testing.assert_allclose(model.predict(X), narrow.predict(X), rtol=1e-6)


def test_counts_are_corrected_by_quantiles_alone():
    counts = rng.negative_binomial(1, 0.2, N).astype(float)
    fitted = lk.PoissonRegressor().fit(X, counts)
    model = lk.RecalibratedRegressor(fitted, method="quantile", cv="prefit")
    model.fit(X, counts)
    assert model.held_out_[1] < model.held_out_[0]
    assert model.predict_dist(X).discrete
    with pytest.raises(InputError, match="only the distribution of one number with"):
        lk.RecalibratedRegressor(fitted, cv="prefit").fit(X, counts)


def test_absent_rows_are_absent_and_frames_of_words_pass():
    dirty = np.where(W[:, None] == 0, np.nan, X)
    labels = np.where(W == 0, "never seen", LABELS)
    model = lk.RecalibratedClassifier(lk.GaussianNB(), method="platt", cv=3)
    model.fit(dirty, labels, sample_weight=W)
    here = W > 0
    other = clone(model).fit(X[here], LABELS[here], sample_weight=W[here])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    frame = pd.DataFrame({"a": X[:, 0], "town": np.where(X[:, 1] > 0, "x", "y")})
    columns = make_column_transformer(
        (preprocessing.OneHotEncoder(sparse_output=False), ["town"]),
        remainder="passthrough",
    )
    pipe = make_pipeline(columns, lk.GaussianNB())
    found = lk.RecalibratedClassifier(pipe, cv=2).fit(frame, LABELS)
    assert found.predict(frame[:3]).shape == (3,)
    assert found.feature_names_in_.tolist() == ["a", "town"]


def test_settings_inside_are_searched():
    model = lk.RecalibratedClassifier(lk.KNeighborsClassifier(), cv=2)
    grid = {"estimator__n_neighbors": [1, 15], "method": ["platt"]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2).fit(X, LABELS)
    assert search.best_params_["estimator__n_neighbors"] == 15


def test_small_and_wrong_data_get_a_sentence():
    nb = lk.GaussianNB()
    with pytest.raises(InputError, match="1 sample cannot be split"):
        lk.RecalibratedRegressor(lk.Ridge()).fit(X[:1], SIGNAL[:1])
    with pytest.raises(
        InputError, match="all rows that the estimator would learn from"
    ):
        lk.RecalibratedClassifier(nb, cv=3).fit(X[:3], ["a", "a", "b"])
    few = lk.RecalibratedClassifier(nb, cv=3).fit(X[:6], list("aabbbc"))
    assert few.predict_proba(X[:2]).shape == (2, 3)
    with pytest.raises(InputError, match="method is 'beta'"):
        lk.RecalibratedClassifier(nb, method="beta").fit(X, LABELS)
    with pytest.raises(InputError, match="neither predict_proba nor"):
        lk.RecalibratedClassifier(OneClass()).fit(X, LABELS)
    splits = [(np.arange(40), np.arange(40, 60))]
    with pytest.raises(InputError, match="hold out every row once"):
        lk.RecalibratedRegressor(lk.Ridge(), cv=splits).fit(X, SIGNAL)
