"""The command line: what it prints where, and how it ends."""

import json
import subprocess
import sys
import types

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from likely import workbench
from likely.cli.main import app
from likely.workbench import Spec


def likely(*args: str):
    return CliRunner().invoke(app, args)


@pytest.fixture(scope="module")
def small_result():
    """A run on few rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    rows = {"x": x, "y": x + rng.normal(size=40)}
    return workbench.run(pa.table(rows), models=["null"], effort="quick")


@pytest.fixture
def fitting(monkeypatch, small_result):
    """Replace the run by one that returns at once, or as the test says."""
    from likely.cli import fit

    specs = []

    def replace(run):
        monkeypatch.setattr(fit, "run_with_progress", run)

    replace(lambda spec, out: specs.append(spec) or small_result)
    return types.SimpleNamespace(replace=replace, specs=specs)


def test_help_names_every_command():
    done = likely("--help")
    assert done.exit_code == 0, done.stderr
    for name in (
        "fit", "predict", "sample", "report", "compare", "resume", "models", "datasets",
        "doctor",
    ):  # fmt: skip
        assert name in done.stdout


def test_python_m_likely_is_the_command():
    command = [sys.executable, "-m", "likely", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("likely ")


def test_fit_prints_a_table_and_the_verdict(fitting, tmp_path):
    done = likely(
        "fit",
        "iris",
        "--target",
        "a",
        "--models",
        "null, linear",
        "--kind",
        "zip=code",
        "--kind",
        "a=b=text",
        "--out",
        str(tmp_path),
    )
    assert done.exit_code == 0, done.stderr
    assert "null model" in done.stdout
    assert "y is real, because" in done.stdout
    assert "No model predicts y better than its overall distribution." in done.stdout
    assert "note LK402: There are only 40 rows." in done.stdout
    assert done.stderr == ""
    (spec,) = fitting.specs
    assert spec.models == ("null", "linear")
    assert spec.kinds == {"zip": "code", "a=b": "text"}


def test_fit_prints_json(fitting, tmp_path):
    done = likely("fit", "--out", str(tmp_path), "--seed", "3", "--json")
    assert json.loads(done.stdout)["target"]["name"] == "y"
    assert fitting.specs[0].seed == 3


def test_fit_never_overwrites_unless_forced(fitting, tmp_path):
    (tmp_path / "precious").write_text("result")
    refused = likely("fit", "--out", str(tmp_path))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert refused.stdout == ""
    assert likely("fit", "--out", str(tmp_path), "--force").exit_code == 0
    (tmp_path / "work").mkdir()
    assert "likely resume" in likely("fit", "--out", str(tmp_path)).stderr


def test_fit_needs_a_folder(fitting, tmp_path):
    (tmp_path / "file").write_text("")
    done = likely("fit", "--out", str(tmp_path / "file"), "--force")
    assert done.exit_code == 2
    assert "is a file" in done.stderr


@pytest.mark.parametrize(
    "options",
    [("--seed", "-1"), ("--folds", "1"), ("--kind", "zip"), ("--effort", "x")],
)
def test_bad_options_are_bad_input(options, tmp_path):
    done = likely("fit", "--out", str(tmp_path), *options)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr


def test_failed_run_is_one_sentence(fitting, tmp_path):
    def fail(spec, out):
        raise RuntimeError("the optimiser\ndiverged.")

    fitting.replace(fail)
    done = likely("fit", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert done.stderr == "likely: the optimiser diverged.\n"


def test_bad_data_is_bad_input(fitting, tmp_path):
    from likely.core import InputError

    def refuse(spec, out):
        raise InputError("y contains NaN (row 3); remove such rows.")

    fitting.replace(refuse)
    done = likely("fit", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == "likely: y contains NaN (row 3); remove such rows.\n"


def test_control_c_has_a_status_of_its_own(fitting, tmp_path):
    def stop(spec, out):
        raise KeyboardInterrupt

    fitting.replace(stop)
    done = likely("fit", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert done.stderr == "likely: stopped.\n"


def test_a_spec_holds_all_settings(fitting, tmp_path):
    spec = tmp_path / "spec.toml"
    spec.write_text(Spec(seed=4).to_toml())
    out = ("--out", str(tmp_path / "run"))
    assert likely("fit", "--spec", str(spec), *out).exit_code == 0
    assert fitting.specs[0].seed == 4
    for words in (["iris"], ["--seed", "3"], ["--kind", "zip=code"]):
        refused = likely("fit", *words, "--spec", str(spec), *out)
        assert refused.exit_code == 2
        assert "holds all settings" in refused.stderr


def test_fit_report_predict_from_a_file(tmp_path):
    """As a new user would: a CSV of one's own."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 90))
    kind = np.where(x + 0.5 * rng.normal(size=90) > 0, "yes", "no")
    lines = [f"{a:.4f},{b:.4f},{c}" for a, b, c in zip(x, z, kind, strict=True)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["x,z,bought", *lines]) + "\n")
    run = tmp_path / "run"
    done = likely("fit", str(table), "--models", "linear", "--out", str(run))
    assert done.exit_code == 0, done.stderr
    assert "bought is binary" in done.stdout
    assert "linear model" in done.stdout
    again = likely("report", str(run))
    assert again.exit_code == 0, again.stderr
    assert "linear model" in again.stdout
    new = tmp_path / "new.csv"
    new.write_text("x,z\n2.5,0\n-2.5,0\n")
    predicted = likely("predict", str(run), str(new), "--coverage", "0.8")
    assert predicted.exit_code == 0, predicted.stderr
    lines = predicted.stdout.splitlines()
    assert lines[0] == "row,predicted,p(no),p(yes),set"
    assert lines[1].startswith("0,yes,")
    assert lines[2].startswith("1,no,")
    keyed = tmp_path / "keyed.csv"
    keyed.write_text("name,x,z\nAnn,2.5,0\nBob,-2.5,0\n")
    words = ("predict", str(run), str(keyed), "--key", "name", "--explain", "--json")
    found = json.loads(likely(*words).stdout)
    assert found["name"] == ["Ann", "Bob"]
    assert found["because"][0].startswith("x = 2.5 (+0.")
    assert likely(*words[:4], "nobody").exit_code == 2
    both = likely("compare", str(run), str(run))
    assert both.exit_code == 0, both.stderr
    assert "is exactly as good as" in both.stdout
    assert likely("compare", str(run)).exit_code == 2
    written = json.loads((run / "report.json").read_text())
    (run / "report.json").write_text(json.dumps({**written, "version": 1}))
    assert "report.html" in likely("report", str(run)).stderr
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("x\n2.5\n-1\n")
    refused = likely("predict", str(run), str(lacking))
    assert refused.exit_code == 2
    assert "'z'" in refused.stderr
    assert likely("predict", str(tmp_path), str(new)).exit_code == 2
    assert likely("report", str(tmp_path / "none")).exit_code == 2
    assert likely("resume", str(tmp_path / "none")).exit_code == 2


def test_lists(tmp_path):
    found = json.loads(likely("models", "--json").stdout)
    assert {"null", "boosting"} <= {row["name"] for row in found["models"]}
    assert "diabetes" in likely("datasets").stdout


def test_doctor_finds_a_healthy_machine():
    done = likely("doctor", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["versions"]["jax"]
    assert found["devices"]
    assert found["cache"]["folder"]
    assert found["self_test"] == {"gradient": True, "float64": True}


def test_doctor_prints_a_table():
    done = likely("doctor")
    assert done.exit_code == 0, done.stderr
    assert "jaxlib" in done.stdout
    assert "passed" in done.stdout


def test_doctor_fails_when_the_sums_are_wrong(monkeypatch):
    from likely.cli import doctor

    monkeypatch.setattr(doctor, "_gradient_is_right", lambda: False)
    done = likely("doctor")
    assert done.exit_code == 1
    assert "FAILED" in done.stdout
    assert "self-test failed" in done.stderr
