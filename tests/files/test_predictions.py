"""A loaded estimator says the same, to the bit: elsewhere, later, in other hands."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from files.examples import ESTIMATORS, X, fitted, frame

from likely import files
from likely.core import float64


def inputs(name: str):
    return frame()[["size"]] if "frame" in name else X


def said(estimator, rows) -> dict[str, list]:
    """What an estimator says about rows, as bits where it says numbers."""
    answers = {"predict": estimator.predict(rows)}
    if hasattr(estimator, "predict_proba"):
        answers["predict_proba"] = estimator.predict_proba(rows)
    elif hasattr(estimator, "predict_interval"):
        answers["upper"] = estimator.predict_interval(rows)[1]
    return {name: bits(answer) for name, answer in answers.items()}


def bits(answer: np.ndarray) -> list:
    return (answer.view(np.int64) if answer.dtype == float else answer).tolist()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_same_bits(name, tmp_path):
    """Here, in the float64 scope, and in a thread that never saw the first one."""
    estimator, rows = fitted(name), inputs(name)
    files.save(estimator, tmp_path / "model.likely")
    expected = said(estimator, rows)
    assert said(files.load(tmp_path / "model.likely"), rows) == expected
    with float64():
        assert said(files.load(tmp_path / "model.likely"), rows) == expected
    found = []

    def elsewhere():
        found.append(said(files.load(tmp_path / "model.likely"), rows))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [expected]


PROGRAM = """
import json, sys
import numpy as np
import likely as lk

estimator = lk.load(sys.argv[1])
proba = estimator.predict_proba(np.load(sys.argv[2]))
print(json.dumps(proba.view(np.int64).tolist()))
"""


def test_same_bits_in_a_fresh_process(tmp_path):
    estimator = fitted("logistic regression")
    model, rows = tmp_path / "model.likely", tmp_path / "X.npy"
    estimator.save(model)
    np.save(rows, X)
    command = [sys.executable, "-c", PROGRAM, model, rows]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == bits(estimator.predict_proba(X))


def test_a_loaded_estimator_fits_again(tmp_path):
    estimator = fitted("linear regression")
    files.save(estimator, tmp_path / "model.likely")
    again = files.load(tmp_path / "model.likely")
    assert repr(again) == repr(estimator)
    assert again.get_params() == estimator.get_params()
    again.fit(X, X[:, 0])
    np.testing.assert_allclose(again.coef_, [1, 0, 0], atol=1e-12)
