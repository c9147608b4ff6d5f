"""Every predictor, transformer and density has the whole face of its kind.

What derives from a distribution agrees with it; nothing that predicts changes the object;
copies predict the same bits; threads that predict at once get what one would get.
"""

import copy
import functools
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from registries.estimators import ESTIMATORS, UNINSTALLED, parameters, rows_for
from registries.latent import WITHOUT_TARGETS
from sklearn.base import BaseEstimator, clone, is_classifier, is_clusterer

import likely as lk
from likely.base.density import Density
from likely.base.predictor import Predictor
from likely.base.transformer import Transformer

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

UNTARGETED = {n: e for n, e in ESTIMATORS.items() if e.kind in WITHOUT_TARGETS}
TRANSFORMERS = [n for n, e in UNTARGETED.items() if isinstance(e.make(), Transformer)]
DENSITIES = [n for n, e in UNTARGETED.items() if isinstance(e.make(), Density)]
CLUSTERERS = [n for n, e in UNTARGETED.items() if e.kind == "clusters"]
NO_ROWS = ("series", "tokens", "texts")
OF_ROWS = [n for n, e in ESTIMATORS.items() if e.kind not in NO_ROWS]
PREDICTORS = [n for n in OF_ROWS if n not in UNTARGETED]
CONFORMAL = [n for n in PREDICTORS if ESTIMATORS[n].conformal]
WITH_DISTRIBUTION = [
    n for n in PREDICTORS if ESTIMATORS[n].distribution and n not in CONFORMAL
]
N_THREADS = 8


def for_each(names):
    return pytest.mark.parametrize("name", parameters(names), scope="module")


@functools.cache
def fitted(name):
    X, y = rows_for(name)
    return ESTIMATORS[name].make().fit(X, y)


def answers(model, X):
    """Everything that a fitted object tells about rows, as arrays."""
    found = {}
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            found[method] = np.asarray(getattr(model, method)(X))
    if hasattr(model, "predict_interval"):
        found["predict_interval"] = np.stack(model.predict_interval(X))
    if hasattr(model, "log_prob"):
        found["log_prob"] = model.log_prob(X)
    return found


def equal(a: dict, b: dict) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_every_public_class_is_in_the_registry():
    """A new estimator is one line there."""
    rooms = (lk.estimators, lk.latent, lk.selection)
    shown = {getattr(room, name) for room in rooms for name in room.__all__}
    public = {c for c in shown if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    registered = {type(entry.make()) for entry in ESTIMATORS.values()}
    assert public <= registered | UNINSTALLED


@for_each(PREDICTORS)
def test_predictors_have_the_face_of_predictors(name):
    model, entry = fitted(name), ESTIMATORS[name]
    assert isinstance(model, Predictor)
    for method in ("fit", "predict", "score", "save"):
        assert callable(getattr(model, method))
    expected = {"predict_dist", "nll"}
    if entry.kind in ("images", "tags", "word labels") or is_classifier(model):
        expected |= {"predict_proba", "predict_log_proba", "predict_set"}
    else:
        expected |= {"predict_interval"}
    for method in sorted(expected):
        assert hasattr(model, method) == entry.distribution, method


@for_each(WITH_DISTRIBUTION)
def test_what_is_predicted_is_what_the_distribution_says(name):
    model, (X, y) = fitted(name), rows_for(name)
    dist = model.predict_dist(X)
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X, 0.8)
        np.testing.assert_allclose(low, dist.interval(0.8)[0], rtol=1e-9)
        np.testing.assert_allclose(high, dist.interval(0.8)[1], rtol=1e-9)
        assert (low <= high).all()
    else:
        probs = model.predict_proba(X)
        np.testing.assert_allclose(probs.sum(-1), 1, rtol=1e-9)
        flat = dist.probs.reshape(probs.shape)
        np.testing.assert_allclose(probs, flat, rtol=1e-6, atol=1e-9)
        sets = model.predict_set(X, 0.8)
        assert ((probs * sets).sum(-1) >= 0.8 - 1e-9).all()
        assert np.take_along_axis(sets, probs.argmax(-1)[..., None], -1).all()
        labels = model.classes_[probs.argmax(-1)]
        assert np.mean(labels == model.predict(X)) == 1.0
    assert np.isfinite(model.nll(X, y))
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    assert np.isfinite(model.nll(X, y, sample_weight=w))


@for_each(CONFORMAL)
def test_conformal_predictions_grow_with_the_coverage(name):
    """They do not follow from the distribution, which is that of the estimator."""
    model, (X, y) = fitted(name), rows_for(name)
    assert np.isfinite(model.nll(X, y))
    if is_classifier(model):
        np.testing.assert_allclose(model.predict_proba(X), model.predict_dist(X).probs)
        small, large = (model.predict_set(X, c) for c in (0.5, 0.9))
        assert (small <= large).all()
        assert small.sum() < large.sum()
        return
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    (a, b), (low, high) = (model.predict_interval(X, c) for c in (0.5, 0.9))
    assert ((low <= a) & (a <= b) & (b <= high)).all()
    assert (low < a).any()


@for_each(TRANSFORMERS)
def test_transformers_have_the_face_of_transformers(name, tmp_path):
    model, (X, _) = fitted(name), rows_for(name)
    assert isinstance(model, Transformer)
    columns = model.transform(X)
    assert columns.shape == (len(X), len(model.get_feature_names_out()))
    model.save(tmp_path / "model.likely")
    equal(answers(lk.load(tmp_path / "model.likely"), X), answers(model, X))


@for_each(DENSITIES)
def test_densities_have_the_face_of_densities(name, tmp_path):
    model, (X, _) = fitted(name), rows_for(name)
    assert isinstance(model, Density)
    log_prob = model.log_prob(X)
    assert log_prob.shape == (len(X),)
    np.testing.assert_allclose(model.score(X), log_prob.mean(), rtol=1e-12)
    np.testing.assert_allclose(model.nll(X), -log_prob.mean(), rtol=1e-12)
    draws = model.sample(50, random_state=1)
    assert draws.shape == (50, X.shape[1])
    np.testing.assert_array_equal(draws, model.sample(50, random_state=1))
    w = np.arange(len(X)) % 3.0
    weighted = clone(model).fit(np.where(w[:, None] > 0, X, np.nan), sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(weighted.log_prob(X), repeated.log_prob(X), rtol=1e-6)
    model.save(tmp_path / "model.likely")
    equal(answers(lk.load(tmp_path / "model.likely"), X), answers(model, X))


@for_each(CLUSTERERS)
def test_clusterers_have_the_face_of_clusterers(name, tmp_path):
    model, (X, _) = fitted(name), rows_for(name)
    assert is_clusterer(model)
    labels = model.labels_
    assert labels.shape == (len(X),)
    assert labels.min() == 0
    np.testing.assert_array_equal(clone(model).fit_predict(X), labels)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(X), labels)
    w = np.arange(len(X)) % 3
    weighted = clone(model).fit(np.where(w[:, None] > 0, X, np.nan), sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, w), repeated.labels_)
    model.save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(loaded.labels_, labels)
    equal(answers(loaded, X), answers(model, X))


@for_each(OF_ROWS)
def test_predicting_changes_nothing(name):
    model, (X, _) = fitted(name), rows_for(name)
    before = {k: id(v) for k, v in vars(model).items()}
    answers(model, X)
    assert {k: id(v) for k, v in vars(model).items()} == before


@for_each(OF_ROWS)
def test_eight_threads_predict_what_one_predicts(name):
    X, y = rows_for(name)
    model = ESTIMATORS[name].make().fit(X, y)  # nothing has been asked of it yet
    with ThreadPoolExecutor(N_THREADS) as pool:
        together = list(pool.map(lambda _: answers(model, X), range(N_THREADS)))
    for found in together:
        equal(found, answers(fitted(name), X))


@for_each(OF_ROWS)
def test_pickles_copies_and_clones(name):
    model, (X, _) = fitted(name), rows_for(name)
    said = answers(model, X)
    equal(answers(pickle.loads(pickle.dumps(model)), X), said)
    equal(answers(copy.deepcopy(model), X), said)
    fresh = clone(model)
    assert not [k for k in vars(fresh) if k.endswith("_")]
    assert str(fresh.get_params()) == str(clone(ESTIMATORS[name].make()).get_params())
