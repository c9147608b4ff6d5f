"""Checkpoints: resumed to the same bits, whatever happened in between."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
import pytest
from ledger import ROOT
from solvers.training.problem import assert_same, problem, rows

from likely.core import InputError
from likely.files import FileError
from likely.solvers import Adam, ExponentialAverage, Validation
from likely.solvers.training import (
    Checkpoints,
    History,
    ResumeWarning,
    Training,
)
from likely.solvers.training.checkpoints import environment


def key():
    return jax.random.key(1)


def solver(steps=60, rate=0.01):
    return Adam(
        rate,
        steps=np.int32(steps),
        batch_size=10,
        average=ExponentialAverage(0.9),
        validation=Validation(rows(20, seed=1), patience=100),
    )


def train(folder, steps=60, resume=False, stop_at=None, rate=0.01, **options):
    """Train with checkpoints; stop when asked to."""
    objective, model, data = problem()
    stop = lambda e: stop_at is not None and e.step >= stop_at  # noqa: E731
    checkpoints = Checkpoints(folder, **{"every_steps": 5, **options})
    training = Training(
        solver(steps, rate), stop, checkpoints=checkpoints, resume=resume, every=5
    )
    return training.minimize(objective, model, data, key=key())


def undisturbed():
    objective, model, data = problem()
    return Training(solver(), every=5).minimize(objective, model, data, key=key())


def test_a_resumed_run_is_the_same_run(tmp_path):
    for stop_at in (10, 35, None):
        found = train(tmp_path, resume=True, stop_at=stop_at)
    assert_same(found, undisturbed())
    again = train(
        tmp_path, resume=True
    )  # finished already: there is nothing left to compute
    assert_same(again, found)


def test_the_last_few_files_are_kept(tmp_path):
    train(tmp_path, stop_at=40, keep=2)
    names = [path.name for path in Checkpoints(tmp_path).files]
    assert names == ["step-000000000035.likely", "step-000000000040.likely"]


def test_files_by_the_clock(tmp_path):
    objective, model, data = problem()
    history = History()
    checkpoints = Checkpoints(tmp_path, every_seconds=0.0)
    training = Training(solver(), history, checkpoints=checkpoints, every=20)
    training.minimize(objective, model, data, key=key())
    assert history.kinds.count("checkpoint") == 3


def test_more_steps_may_follow(tmp_path):
    train(tmp_path, steps=35)
    more = train(tmp_path, resume=True)
    assert_same(more.model, undisturbed().model)


def test_a_folder_in_use_is_not_written_over(tmp_path):
    train(tmp_path, stop_at=5)
    before = [path.read_bytes() for path in Checkpoints(tmp_path).files]
    with pytest.raises(InputError, match="holds checkpoints of a run already"):
        train(tmp_path)
    assert before == [path.read_bytes() for path in Checkpoints(tmp_path).files]


def test_a_damaged_file_is_passed_over(tmp_path):
    train(tmp_path, stop_at=35)
    last = Checkpoints(tmp_path).files[-1]
    last.write_bytes(last.read_bytes()[:-7])
    with pytest.warns(ResumeWarning, match="Passed over"):
        found = train(tmp_path, resume=True)
    assert_same(found.model, undisturbed().model)


def test_only_damaged_files_are_an_error(tmp_path):
    train(tmp_path, stop_at=5)
    for path in Checkpoints(tmp_path).files:
        path.write_bytes(b"")
    with (
        pytest.warns(ResumeWarning),
        pytest.raises(FileError, match="none of the 1 checkpoints"),
    ):
        train(tmp_path, resume=True)


def test_another_run_is_refused_and_other_versions_are_reported(tmp_path, monkeypatch):
    train(tmp_path, stop_at=5)
    with pytest.raises(InputError, match="made with other settings"):
        train(tmp_path, resume=True, rate=0.02)
    name = "likely.solvers.training.checkpoints.environment"
    monkeypatch.setattr(name, lambda layout: {**environment(layout), "jax": "9.9"})
    with pytest.warns(ResumeWarning, match=r"jax .* then and 9\.9 now.*about 1e-5"):
        train(tmp_path, resume=True)


def test_what_a_kill_left_behind_is_removed(tmp_path):
    train(tmp_path, stop_at=5)
    (tmp_path / ".step-000000000010.likely.0123.tmp").write_bytes(b"half")
    train(tmp_path, resume=True, stop_at=10)
    assert not list(tmp_path.glob(".*"))


# The disk -----------------------------------------------------------------------------


@contextlib.contextmanager
def largest_file(size: int):
    """A limit to the size of files, as a full disk has; the signal becomes an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path):
    train(tmp_path, stop_at=20)
    saved = {path.name: path.read_bytes() for path in Checkpoints(tmp_path).files}
    with (
        largest_file(2000),
        pytest.raises(FileError, match="the last checkpoint that was saved") as caught,
    ):
        train(tmp_path, resume=True)
    assert "cannot be saved: File too large" in str(caught.value)
    assert saved == {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert_same(train(tmp_path, resume=True), undisturbed())


@contextlib.contextmanager
def as_nobody():
    """Not as root, who writes everywhere."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_folder_is_a_sentence_and_loses_nothing():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(folder, stop_at=5)
        saved = {path.name: path.read_bytes() for path in folder.iterdir()}
        folder.chmod(0o555)
        try:
            with (
                as_nobody(),
                pytest.raises(InputError, match=r"cannot be written to .*denied"),
            ):
                train(folder, resume=True)
        finally:
            folder.chmod(0o700)
        assert saved == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    """Also for root: a file stands where the folder should be, or /proc does."""
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", "/proc/checkpoints"):
        with pytest.raises(InputError, match="cannot be written to .* Nothing was"):
            train(folder)


@pytest.mark.slow
def test_twenty_five_kills_change_no_bit():
    """SIGKILL at random moments, also during the save; see the script for 200."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "kill_training.py"), "25"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_DEBUG_KEY_REUSE": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("25 kills")
