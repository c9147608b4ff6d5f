"""A new estimator is three places, as CONTRIBUTING.md tells: added here, and counted."""

import os
import re
import shutil
import subprocess
import sys
import textwrap

from ledger import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
STUB = "from .neighbors.centroid import NearestCentroid as NearestCentroid\n"
ENTRY = 'ESTIMATORS["nearest centroid"] = Entry(lk.NearestCentroid, "classes")\n'
LAWS = """
import tempfile, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import likely as lk
from laws import test_faces as laws
from sklearn.utils.estimator_checks import check_estimator

name = "nearest centroid"
assert "NearestCentroid" in lk.__all__
laws.test_every_public_class_is_in_the_registry()
laws.test_predictors_have_the_face_of_predictors(name)
laws.test_what_is_predicted_is_what_the_distribution_says(name)
laws.test_predicting_changes_nothing(name)
laws.test_eight_threads_predict_what_one_predicts(name)
laws.test_pickles_copies_and_clones(name)
path = Path(tempfile.mkdtemp()) / "model.likely"
laws.fitted(name).save(path)
X, _ = laws.rows_for(name)
laws.equal(laws.answers(lk.load(path), X), laws.answers(laws.fitted(name), X))
check_estimator(lk.NearestCentroid())
print("kept")
"""


def append(path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def test_an_estimator_is_added_in_three_places(tmp_path):
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    for name in ("src", "tests"):
        shutil.copytree(
            ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("golden")
        )
    room = tmp_path / "src" / "likely" / "estimators"
    (room / "neighbors" / "centroid.py").write_text(textwrap.dedent(code[1]), "utf-8")
    append(room / "__init__.pyi", STUB)
    append(tmp_path / "tests" / "registries" / "estimators.py", ENTRY)

    paths = os.pathsep.join([str(tmp_path / "src"), str(tmp_path / "tests")])
    command = [sys.executable, "-c", LAWS]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.stdout.split() == ["kept"], done.stderr
    old = {
        p.relative_to(ROOT): p.read_bytes()
        for n in ("src", "tests")
        for p in python(ROOT / n)
    }
    new = {
        p.relative_to(tmp_path): p.read_bytes()
        for n in ("src", "tests")
        for p in python(tmp_path / n)
    }
    changed = [path for path, text in new.items() if old.get(path) != text]
    assert len(changed) == 3, changed


def python(folder):
    return [p for p in folder.rglob("*.py*") if p.suffix in (".py", ".pyi")]
