"""Files of earlier versions load, and say what they said then.

What made them is in `tests/golden/make.py`. A golden file is never made again.
"""

import importlib.util

import numpy as np
import pytest
from files.sameness import same
from ledger import ROOT

from likely import files

GOLDEN = ROOT / "tests" / "golden"
PATHS = sorted(GOLDEN.glob("*/*.likely"))


def make():
    spec = importlib.util.spec_from_file_location("make", GOLDEN / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_some():
    assert {path.stem for path in PATHS} >= {"ridge", "logistic", "network", "values"}


@pytest.mark.parametrize("path", PATHS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_loads(path):
    files.load(path)


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_estimators_say_what_they_said(name):
    found = files.load(GOLDEN / "v1" / f"{name}.likely")
    estimator, X = found["object"], found["X"]
    for method, said in found["said"].items():
        if method in ("lower", "upper"):
            now = estimator.predict_interval(X)[method == "upper"]
        else:
            now = getattr(estimator, method)(X)
        if said.dtype.kind == "f":
            np.testing.assert_allclose(now, said, rtol=1e-12)
        else:
            assert same(now, said)


def test_network_says_what_it_said():
    found = files.load(GOLDEN / "v1" / "network.likely")
    now = found["object"]["fit"](found["X"]).probs
    np.testing.assert_allclose(now, found["said"]["probs"], rtol=1e-5)


def test_values_are_what_they_were():
    assert same(files.load(GOLDEN / "v1" / "values.likely"), make().values())
