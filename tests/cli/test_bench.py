"""`likely bench`, and the comparison of `make bench` with the last release."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import released
from benchmarks.__main__ import MODULES
from likely.cli.main import app
from likely.core import InputError
from likely.workbench.bench import machine, tables, turns
from likely.workbench.bench.cases import CASES, JOBS, PACKAGES
from likely.workbench.bench.page import page
from likely.workbench.bench.run import Bench, run_bench

ROW = {
    "name": "ridge, scikit-learn", "job": "ridge", "peer": "scikit-learn",
    "title": "Ridge <regression>", "score": "R²", "score_ours": 0.9, "score_peer": 0.9,
    "ours_s": 0.1, "peer_s": 0.2, "ratio": 2.0, "at_least": 1.0, "cold_ours_s": 1.0,
    "cold_peer_s": 0.3, "verified": True, "complaint": None,
}  # fmt: skip


def bench_of(*rows, **left_out):
    facts = {"processor": "P", "cores": 2, "versions": {"likely": "0"}}
    return Bench(facts, list(rows), left_out, {})


@pytest.mark.slow
def test_command_measures_and_writes_a_page(tmp_path):
    out = tmp_path / "bench"
    command = [sys.executable, "-m", "likely", "bench", "--only", "ridge,conformal"]
    command += ["--size", "0.01", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["rows"]] == [
        "ridge, scikit-learn",
        "conformal, scikit-learn",
    ]
    assert all(row["verified"] and row["ratio"] > 0 for row in found["rows"])
    assert found["rows"][0]["score_ours"] == pytest.approx(
        found["rows"][0]["score_peer"], rel=1e-6
    )
    assert json.loads((out / "bench.json").read_text()) == found
    assert "Ridge regression" in (out / "bench.html").read_text()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize("job", ["ridge", "logistic", "poisson", "search", "conformal"])
def test_both_sides_take_the_smallest_tables(job):
    _assert_equal(f"{job}, scikit-learn", job, "scikit-learn", 0.002)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_scores_are_equal(name):
    job, _, package = name.partition(", ")
    pytest.importorskip(PACKAGES[package])
    _assert_equal(name, job, package, 1.0 if job == "network" else 0.1)


def _assert_equal(name, job, package, size):
    data = JOBS[job].setup(size)
    ours, peer = JOBS[job].ours(data), JOBS[job].peers[package](data)
    assert CASES[name].verify(ours, peer) is None


def test_tables_are_the_same_on_both_sides_and_shrink():
    a, b = (tables.curves(1000, 5, 0.1) for _ in range(2))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y_new, b.y_new)
    assert len(a.X) == 100
    assert set(np.unique(tables.classes(1000, 5, 0.5).y)) == {0, 1}


def test_a_package_that_is_missing_and_time_that_is_over_are_said(monkeypatch):
    made = []

    def measure(module, name, case, **_):
        made.append(name)
        return dict(ROW, name=name, answers=[{"score": 1.0}, {"score": 1.0}])

    monkeypatch.setattr("likely.workbench.bench.run.measure", measure)
    monkeypatch.setattr(
        "likely.workbench.bench.run.find_spec",
        lambda name: None if name == "torch" else object(),
    )
    found = run_bench(["network", "ridge"], minutes=1e-9)
    assert made == ["ridge, scikit-learn"]
    assert "over" in found.left_out["network, scikit-learn"]
    assert found.left_out["network, PyTorch"] == "PyTorch is not installed"
    assert any("left out: network, PyTorch" in s for s in found.sentences)
    assert found.machine["cores"] == machine.cores() >= 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"only": ["rigde"]}, "rigde"),
        ({"minutes": 0}, "minutes"),
        ({"size": 2}, "size"),
    ],
)
def test_bad_settings_get_a_sentence(options, word):
    with pytest.raises(InputError, match=word):
        run_bench(**options)
    if "only" in options:
        done = CliRunner().invoke(app, ["bench", "--only", "rigde"])
        assert done.exit_code == 2


def test_page_escapes_and_says_which_scores_differ():
    bad = dict(ROW, verified=False, name="glm, statsmodels")
    found = bench_of(ROW, bad)
    html = page(found)
    assert "Ridge &lt;regression&gt;" in html
    assert "<script" not in html
    assert any("glm, statsmodels: the scores differ" in s for s in found.sentences)
    assert found.table[0]["ratio"] == "2.00x"
    assert [row["scores"] for row in found.table] == ["equal", "differ"]


@pytest.mark.parametrize(
    ("ratio", "bar", "before", "words", "fails"),
    [
        (2.0, 1.0, {"ratio": 2.1, "bar": 1.0}, "", False),
        (1.5, 1.0, {"ratio": 2.0, "bar": 1.0}, "fell by 25%", False),
        (0.95, 1.0, {"ratio": 1.0, "bar": 1.0}, "within tolerance", False),
        (0.85, 1.0, {"ratio": 0.9, "bar": 1.0}, "below its bar", True),
        (2.0, 1.0, {"ratio": 2.0, "bar": 1.5}, "the bar was 1.5x", False),
        (2.0, 1.0, None, "new", False),
    ],
)
def test_a_case_is_compared_with_the_last_release(ratio, bar, before, words, fails):
    row = dict(ROW, name="case", ratio=ratio, at_least=bar)
    said, failed = released.compare(row, {} if before is None else {"case": before})
    assert words in said if words else said == ""
    assert failed == fails


def test_answers_that_differ_fail_and_peers_that_are_missing_do_not():
    row = dict(ROW, verified=False, complaint="coef differs by 1")
    assert released.compare(row, {}) == ("coef differs by 1", True)
    said, failed = released.compare({"name": "a", "missing": "torch"}, {})
    assert "torch is not installed" in said
    assert not failed


def test_a_record_is_read_back_on_its_kind_of_machine(tmp_path):
    file = tmp_path / "released.json"
    file.write_text(json.dumps({"other": {"case": {"ratio": 1.0, "bar": 0}}}))
    assert released.released(file)[0] == "other"
    released.record([ROW, dict(ROW, name="bad", verified=False)], file)
    kind, cases = released.released(file)
    assert kind == released.kind_of_machine()
    assert cases == {ROW["name"]: {"ratio": 2.0, "bar": 1.0}}
    assert "other" in json.loads(file.read_text())


def test_the_released_ratios_are_of_cases_that_exist():
    modules = [importlib.import_module(f"benchmarks.{name}") for name in MODULES]
    known = {case for module in modules for case in getattr(module, "CASES", ())}
    recorded = json.loads(released.FILE.read_text())
    for cases in recorded.values():
        gone = {n for n in cases if n not in known and "its limit" not in n}
        assert not gone, gone


ABSENT = """
from likely.workbench.bench.turns import Case

def peer(_):
    import no_such_package_at_all

CASES = {"absent": Case(lambda: None, lambda _: {}, peer, lambda *_: None)}
"""


def test_a_side_without_its_package_says_so(tmp_path, monkeypatch):
    (tmp_path / "absent_peer.py").write_text(ABSENT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    case = turns.Case(dict, dict, dict, lambda *_: None)
    found = turns.measure("absent_peer", "absent", case)
    assert found == {"name": "absent", "missing": "no_such_package_at_all"}
