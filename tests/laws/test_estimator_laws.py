"""Laws of every estimator of the registry, beyond scikit-learn's own checks.

An estimator with a `random_state` may depend on the order of rows and columns, one with
folds (`cv`) on that of rows; all others may not.
"""

import functools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from registries.estimators import ESTIMATORS
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

import likely as lk

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

PREDICTORS = {
    name: e for name, e in ESTIMATORS.items() if is_classifier(e) or is_regressor(e)
}
CHAOTIC = {"perceptron"}  # where no plane separates, it goes round and round
EXACT = [
    n
    for n, e in PREDICTORS.items()
    if "random_state" not in e.get_params() and n not in CHAOTIC
]
UNFOLDED = [n for n in EXACT if "cv" not in ESTIMATORS[n].get_params()]
WEIGHTED = [n for n in UNFOLDED if has_fit_parameter(ESTIMATORS[n], "sample_weight")]
CLASSIFIERS = [
    n for n, e in PREDICTORS.items() if is_classifier(e) and n not in CHAOTIC
]
N, D = 60, 4


def data(name, n=N, d=D, seed=0):
    """Rows with a signal; targets are classes, or whole numbers above zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    if is_classifier(ESTIMATORS[name]):
        return X, np.digitize(signal, [-0.7, 0.7])
    return X, 1.0 + rng.poisson(np.exp(0.5 * signal + 1)).astype(float)


def says(model, X):
    """What a predictor says in numbers, the finest it has."""
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X))
    raise AssertionError("it predicts nothing")


@functools.cache
def fitted(name):
    return clone(ESTIMATORS[name]).fit(*data(name))


def close(a, b, tolerance=1e-6):
    size = np.abs(b).max() + 1e-300
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("name", UNFOLDED)
def test_order_of_rows_changes_nothing(name):
    X, y = data(name)
    rows = np.random.default_rng(1).permutation(N)
    other = clone(ESTIMATORS[name]).fit(X[rows], y[rows])
    close(says(other, X), says(fitted(name), X))


@pytest.mark.parametrize("name", EXACT)
def test_order_of_columns_changes_nothing(name):
    """Up to the tolerance at which an iterative fit stops."""
    X, y = data(name)
    columns = np.random.default_rng(2).permutation(D)
    other = clone(ESTIMATORS[name]).fit(X[:, columns], y)
    close(says(other, X[:, columns]), says(fitted(name), X), tolerance=5e-3)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weight_two_is_the_row_twice(name):
    X, y = data(name)
    w = np.random.default_rng(3).integers(0, 3, size=N).astype(float)
    garbage = np.where(w[:, None] == 0, np.nan, X)
    rows = np.repeat(np.arange(N), w.astype(int))
    weighted = clone(ESTIMATORS[name]).fit(garbage, y, sample_weight=w)
    repeated = clone(ESTIMATORS[name]).fit(X[rows], y[rows])
    close(says(weighted, X), says(repeated, X))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_names_of_classes_change_nothing(name):
    """Other names in the same order, and the classes turned around."""
    X, y = data(name)
    if name == "rounded regression":
        pytest.skip("its classes are numbers")
    words = np.array(["ant", "bee", "cat"])
    renamed = clone(ESTIMATORS[name]).fit(X, words[y])
    np.testing.assert_array_equal(
        renamed.predict(X), words[np.asarray(fitted(name).predict(X), int)]
    )
    np.testing.assert_array_equal(says(renamed, X), says(fitted(name), X))
    if name in EXACT:
        turned = clone(ESTIMATORS[name]).fit(X, 2 - y)
        close(says(turned, X)[:, ::-1], says(fitted(name), X), tolerance=5e-3)


@pytest.mark.parametrize("name", PREDICTORS)
def test_saved_and_loaded_predicts_the_same_bits(name, tmp_path):
    X, _ = data(name)
    fitted(name).save(tmp_path / "model.likely")
    loaded = lk.load(tmp_path / "model.likely")
    np.testing.assert_array_equal(says(loaded, X), says(fitted(name), X))


@pytest.mark.parametrize("name", PREDICTORS)
def test_read_only_arrays_are_left_alone(name):
    X, y = data(name)
    X.setflags(write=False)
    y.setflags(write=False)
    model = clone(ESTIMATORS[name]).fit(X, y)
    np.testing.assert_array_equal(says(model, X), says(fitted(name), X))


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in(name, kind):
    frames = pytest.importorskip(kind)
    X, y = data(name)
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame(dict(zip(names, X.T.copy(), strict=True)))
    model = clone(ESTIMATORS[name]).fit(frame, frames.Series(y))
    assert model.feature_names_in_.tolist() == names
    close(says(model, frame), says(fitted(name), X), tolerance=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("name", PREDICTORS)
def test_threads_may_predict_at_once(name):
    X, _ = data(name)
    model, parts = fitted(name), [slice(0, 20), slice(20, 45), slice(45, 60)] * 4
    alone = [says(model, X[part]) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda part: says(model, X[part]), parts))
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_single_row_is_predicted_as_among_others(name):
    X, _ = data(name)
    close(says(fitted(name), X[7:8]), says(fitted(name), X)[7:8], tolerance=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_gets_a_sentence(name):
    X, _ = data(name)
    with pytest.raises(ValueError, match="class"):
        clone(ESTIMATORS[name]).fit(X, np.ones(N, int))


@pytest.mark.parametrize("name", PREDICTORS)
def test_fewer_rows_than_columns(name):
    X, y = data(name, n=12, d=20)
    assert np.isfinite(says(clone(ESTIMATORS[name]).fit(X, y), X)).all()


@pytest.mark.parametrize("name", PREDICTORS)
def test_constant_columns(name):
    X, y = data(name)
    X[:, 2] = 7.0
    X[:, 3] = 0.0
    assert np.isfinite(says(clone(ESTIMATORS[name]).fit(X, y), X)).all()


def test_another_process_finds_the_same_bits(tmp_path):
    """All of them in one new process."""
    folder = Path(__file__).parents[1]
    code = (
        "import sys, warnings, numpy as np; warnings.simplefilter('ignore');"
        f"sys.path.insert(0, {str(folder)!r});"
        "from laws import test_estimator_laws as t;"
        "np.savez(sys.argv[1], **{n: t.says(t.fitted(n), t.data(n)[0])"
        " for n in t.PREDICTORS})"
    )
    path = tmp_path / "said.npz"
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=600)
    with np.load(path) as other:
        for name in PREDICTORS:
            X, _ = data(name)
            np.testing.assert_array_equal(other[name], says(fitted(name), X))
