"""Laws of every estimator of the registry, beyond scikit-learn's own checks.

All at one shape, so that an estimator compiles few programs; tests of one estimator run
one after another, so that they share them. An estimator with a `random_state` may depend
on the order of rows and columns, one with folds (`cv`) on that of rows; all others may not.
"""

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from registries.estimators import (
    COLUMNS as D,
    ESTIMATORS,
    NOT_TABLES,
    ROWS as N,
    parameters,
    rows_for as data,
)
from registries.latent import WITHOUT_TARGETS
from sklearn.utils.validation import has_fit_parameter

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OTHER_KINDS = (*WITHOUT_TARGETS, *NOT_TABLES)
PREDICTORS = [n for n, e in ESTIMATORS.items() if e.kind not in OTHER_KINDS]
CHAOTIC = {"perceptron"}  # where no plane separates, it goes round and round


def has(name: str, setting: str) -> bool:
    return setting in ESTIMATORS[name].make().get_params()


EXACT = [n for n in PREDICTORS if not has(n, "random_state") and n not in CHAOTIC]
UNFOLDED = [n for n in EXACT if not has(n, "cv")]
WEIGHTED = [
    n for n in UNFOLDED if has_fit_parameter(ESTIMATORS[n].make(), "sample_weight")
]
CLASSIFIERS = [
    n for n in PREDICTORS if ESTIMATORS[n].kind == "classes" and n not in CHAOTIC
]
WIDE = 12, 15
"""Fewer rows than columns; linear models pad 4 and 15 columns to the same number."""


def for_each(names):
    return pytest.mark.parametrize("name", parameters(names), scope="module")


def predictions(model, X):
    """What a predictor finds in numbers, the finest it has."""
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError("it predicts nothing")


def fit(name, *rows, **options):
    return ESTIMATORS[name].make().fit(*rows, **options)


@functools.cache
def fitted(name):
    return fit(name, *data(name))


@functools.cache
def expected(name):
    """The predictions of the fitted model at the rows it was fitted to."""
    return predictions(fitted(name), data(name)[0])


def close(a, b, tolerance=1e-6):
    size = np.abs(b).max() + 1e-300
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


@for_each(UNFOLDED)
def test_order_of_rows_changes_nothing(name):
    X, y = data(name)
    rows = np.random.default_rng(1).permutation(N)
    other = fit(name, X[rows], y[rows])
    close(predictions(other, X), expected(name))


@for_each(EXACT)
def test_order_of_columns_changes_nothing(name):
    """Up to the tolerance at which an iterative fit stops."""
    X, y = data(name)
    columns = np.random.default_rng(2).permutation(D)
    other = fit(name, X[:, columns], y)
    close(predictions(other, X[:, columns]), expected(name), tolerance=5e-3)


@for_each(WEIGHTED)
def test_weight_two_is_the_row_twice(name):
    """A third of the rows twice, a third once, a third absent: as many as before."""
    X, y = data(name)
    w = np.random.default_rng(3).permutation(np.arange(N) % 3).astype(float)
    garbage = np.where(w[:, None] == 0, np.nan, X)
    rows = np.repeat(np.arange(N), w.astype(int))
    weighted = fit(name, garbage, y, sample_weight=w)
    repeated = fit(name, X[rows], y[rows])
    close(predictions(weighted, X), predictions(repeated, X))


@for_each(CLASSIFIERS)
def test_names_of_classes_change_nothing(name):
    """Other names in the same order, and the classes turned around."""
    X, y = data(name)
    if name == "rounded regression":
        pytest.skip("its classes are numbers")
    if name == "ordinal regression":
        pytest.skip("names have an order of their own")
    words = np.array(["ant", "bee", "cat"])
    renamed = fit(name, X, words[y])
    np.testing.assert_array_equal(
        renamed.predict(X), words[np.asarray(fitted(name).predict(X), int)]
    )
    np.testing.assert_array_equal(predictions(renamed, X), expected(name))
    if name in EXACT:
        turned = fit(name, X, 2 - y)
        close(predictions(turned, X)[:, ::-1], expected(name), tolerance=5e-3)


@for_each(PREDICTORS)
def test_saved_and_loaded_predicts_the_same_bits(name, tmp_path):
    fitted(name).save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(predictions(loaded, data(name)[0]), expected(name))


@for_each(PREDICTORS)
def test_read_only_arrays_are_left_alone(name):
    X, y = data(name)
    X.setflags(write=False)
    y.setflags(write=False)
    np.testing.assert_array_equal(predictions(fit(name, X, y), X), expected(name))


@for_each(PREDICTORS)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in(name, kind):
    frames = pytest.importorskip(kind)
    X, y = data(name)
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame(dict(zip(names, X.T.copy(), strict=True)))
    model = fit(name, frame, frames.Series(y))
    assert model.feature_names_in_.tolist() == names
    close(predictions(model, frame), expected(name), tolerance=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


@for_each(PREDICTORS)
def test_a_single_row_is_predicted_as_among_others(name):
    X, _ = data(name)
    one = predictions(fitted(name), X[7:8])
    close(one, expected(name)[7:8], tolerance=1e-9)


@for_each(CLASSIFIERS)
def test_one_class_gets_a_sentence(name):
    X, _ = data(name)
    with pytest.raises(ValueError, match="class"):
        fit(name, X, np.ones(N, int))


@for_each(PREDICTORS)
def test_fewer_rows_than_columns(name):
    X, y = data(name, *WIDE)
    assert np.isfinite(predictions(fit(name, X, y), X)).all()


@for_each(PREDICTORS)
def test_constant_columns(name):
    X, y = data(name)
    X[:, 2] = 7.0
    X[:, 3] = 0.0
    assert np.isfinite(predictions(fit(name, X, y), X)).all()


@pytest.mark.slow
def test_another_process_finds_the_same_bits(tmp_path):
    """All estimators in one new process."""
    folder = Path(__file__).parents[1]
    code = (
        "import sys, warnings, numpy as np; warnings.simplefilter('ignore');"
        f"sys.path.insert(0, {str(folder)!r});"
        "from laws import test_estimator_laws as t;"
        "np.savez(sys.argv[1], **{n: t.expected(n) for n in t.PREDICTORS})"
    )
    path = tmp_path / "predictions.npz"
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=600)
    with np.load(path) as other:
        for name in PREDICTORS:
            np.testing.assert_array_equal(other[name], expected(name))
