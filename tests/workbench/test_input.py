"""Rows that come from no file, names that are misspelled, and starts that fail."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from likely.cli.main import app
from likely.core.checks import InputError, nearest
from likely.data import Schema
from likely.workbench import Spec, job
from likely.workbench.candidates import candidates_for
from likely.workbench.table import prepare, read
from likely.workbench.target import read_target

LEVELS = ["low", "mid", "high"] * 4
NULL = {"models": ("null",), "effort": "quick", "target": "y", "folds": 2}


def content(n: int = 40) -> bytes:
    rng = np.random.default_rng(0)
    prices = rng.uniform(10, 5000, n)
    ages = rng.choice(["<20", "20-30", "30-40", "40+"], n)
    rows = [
        f'"${p:,.2f}",{a},{p / 100 + rng.normal():.3f}\n'
        for p, a in zip(prices, ages, strict=True)
    ]
    return ("Sales of 2024\n\nprice,age,y\n" + "".join(rows)).encode()


def test_bytes_are_kept_so_that_a_run_resumes(tmp_path):
    class Killed(Exception):
        pass

    def kill(event):
        if event.kind == "done":
            raise Killed

    spec = Spec(data="-", **NULL)
    with pytest.raises(Killed):
        job.run_spec(spec, content(), out=tmp_path / "a", notify=kill)
    assert (tmp_path / "a" / "stdin").read_bytes() == content()
    result = job.resume(tmp_path / "a")
    whole = job.run_spec(spec, content(), out=tmp_path / "b")
    for name in ("report.json", "predictions.csv", "spec.toml"):
        there = (tmp_path / "a" / name).read_bytes()
        assert there == (tmp_path / "b" / name).read_bytes()
    assert result.model.predict(content()[:120] + b"\n") is not None
    notes = whole.table.notes
    assert any("'price' is read as numbers: '$" in note for note in notes)
    assert any("'age' is read as numbers: '" in note for note in notes)


def test_predict_reads_stdin(tmp_path):
    job.run_spec(Spec(data="-", **NULL), content(), out=tmp_path / "a")
    arguments = ["predict", str(tmp_path / "a"), "-"]
    done = CliRunner().invoke(app, arguments, input=content(12))
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 13


def test_a_start_that_fails_leaves_no_folder(tmp_path, monkeypatch):
    wrong = [
        {"target": "Y"},
        {"models": ("liner",)},
        {"kinds": {"age": "words"}},
        {"folds": 90},
    ]
    for settings in wrong:
        spec = Spec(data="-", **{**NULL, **settings})
        with pytest.raises(InputError):
            job.run_spec(spec, content(), out=tmp_path / "run" / "it")

    def refuse(ladder):
        raise InputError("no.")

    monkeypatch.setattr(job, "_run", refuse)
    with pytest.raises(InputError, match="no"):
        job.run_spec(Spec(data="-", **NULL), content(), out=tmp_path / "run" / "it")
    assert not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(InputError, match="no"):
        job.run_spec(Spec(data="-", **NULL), content(), out=tmp_path / "mine")
    assert (tmp_path / "mine" / "file").exists()


def refusals():
    source = read(content())
    return {
        "a column": lambda: prepare(Spec(target="Y"), source),
        "a column in capitals": lambda: prepare(
            Spec(target="y", drop=("AGE",)), source
        ),
        "a kind": lambda: prepare(Spec(target="y", kinds={"age": "Category"}), source),
        "a model": lambda: candidates_for("real", ("LINEAR",)),
        "a family": lambda: prepare(Spec(target="y", family="Normal"), source),
        "a level": lambda: read_target(
            Schema.infer({"y": LEVELS})["y"], pa.array(LEVELS), "ordinal:LOW,mid,high"
        ),
        "an effort": lambda: Spec(effort="QUICK"),
        "a data set": lambda: read("diabetis"),
        "a setting": lambda: Spec.from_dict({"Target": "y"}),
    }


@pytest.mark.parametrize("name", refusals())
def test_a_misspelled_name_suggests_the_nearest(name):
    with pytest.raises(InputError, match="[dD]id you mean '"):
        refusals()[name]()


def test_the_nearest_name_has_any_case():
    assert nearest("LOW", ["high", "low"]) == "low"
    assert nearest("Liner", ["forest", "linear"]) == "linear"
    assert nearest("zzz", ["high", "low"]) is None


def test_no_warning_reaches_the_terminal(monkeypatch):
    from likely.cli import predict

    def loud(*_, **__):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        return "a\n1\n"

    monkeypatch.setattr(predict, "predictions", loud)
    with warnings.catch_warnings():
        done = CliRunner().invoke(app, ["predict", "model", "data.csv"])
    assert done.exit_code == 0, done.output
    assert "overflow" not in done.output
