"""The command line: what it prints where, and how it ends."""

import json
import subprocess
import sys
import types

import pytest
from typer.testing import CliRunner

from likely.cli.main import app

ROWS = [
    {"model": "null", "nll": 1.23456789, "n": 10},
    {"model": "linear", "nll": 0.5, "n": 10},
]


def likely(*args: str):
    return CliRunner().invoke(app, args)


@pytest.fixture
def demo_run(monkeypatch):
    """Replace the demonstration by one that returns at once, or as the test says."""

    def replace(run):
        demo = types.ModuleType("likely.workbench.demo")
        demo.run = run
        monkeypatch.setitem(sys.modules, "likely.workbench.demo", demo)

    replace(lambda out, seed, force: {"rows": ROWS, "seed": seed})
    return replace


def test_help_names_every_command():
    done = likely("--help")
    assert done.exit_code == 0, done.stderr
    assert "demo" in done.stdout
    assert "doctor" in done.stdout


def test_python_m_likely_is_the_command():
    command = [sys.executable, "-m", "likely", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("likely ")


def test_demo_prints_a_table(demo_run, tmp_path):
    done = likely("demo", "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    assert "linear" in done.stdout
    assert "1.235" in done.stdout
    assert done.stderr == ""


def test_demo_prints_json(demo_run, tmp_path):
    done = likely("demo", "--out", str(tmp_path), "--seed", "3", "--json")
    assert json.loads(done.stdout) == {"rows": ROWS, "seed": 3}


def test_demo_never_overwrites_unless_forced(demo_run, tmp_path):
    (tmp_path / "precious").write_text("result")
    refused = likely("demo", "--out", str(tmp_path))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert refused.stdout == ""
    assert likely("demo", "--out", str(tmp_path), "--force").exit_code == 0


def test_demo_needs_a_folder(demo_run, tmp_path):
    (tmp_path / "file").write_text("")
    done = likely("demo", "--out", str(tmp_path / "file"), "--force")
    assert done.exit_code == 2
    assert "is a file" in done.stderr


def test_bad_option_is_bad_input():
    done = likely("demo", "--seed", "-1")
    assert done.exit_code == 2
    assert "--seed" in done.stderr


def test_failed_run_is_one_sentence(demo_run, tmp_path):
    def fail(out, seed, force):
        raise RuntimeError("the optimiser\ndiverged.")

    demo_run(fail)
    done = likely("demo", "--out", str(tmp_path))
    assert done.exit_code == 1
    assert done.stderr == "likely: the optimiser diverged.\n"


def test_bad_data_is_bad_input(demo_run, tmp_path):
    from likely.core import InputError

    def refuse(out, seed, force):
        raise InputError("y contains NaN (row 3); remove such rows.")

    demo_run(refuse)
    done = likely("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == "likely: y contains NaN (row 3); remove such rows.\n"


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
