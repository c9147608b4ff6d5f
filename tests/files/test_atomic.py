"""Saving replaces a file in one step, or leaves it alone."""

import os
import subprocess
import sys

import numpy as np
import pytest
from ledger import ROOT

from likely import files
from likely.files import atomic


def test_replaces_a_model(tmp_path):
    path = tmp_path / "model.likely"
    for value in (1, 2):
        files.save(value, path)
        assert files.load(path) == value
    assert {p.name for p in tmp_path.iterdir()} == {"model.likely", "model.likely.md"}


def test_keeps_permissions_and_follows_links(tmp_path):
    real = tmp_path / "real.likely"
    files.save(1, real, card=False)
    real.chmod(0o640)
    (tmp_path / "link.likely").symlink_to(real)
    files.save(2, tmp_path / "link.likely", card=False)
    assert files.load(real) == 2
    assert real.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.likely").is_symlink()


def test_new_files_have_the_usual_permissions(tmp_path):
    files.save(1, tmp_path / "model.likely", card=False)
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "model.likely").stat().st_mode == usual


@pytest.mark.parametrize("name", ["model.likely", "model.likely.md"])
def test_leaves_files_of_others_alone(name, tmp_path):
    (tmp_path / name).write_text("my notes")
    with pytest.raises(files.FileError, match=f"'{name}' exists, likely did not"):
        files.save(1, tmp_path / "model.likely")
    assert (tmp_path / name).read_text() == "my notes"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_fills_an_empty_file(tmp_path):
    (tmp_path / "model.likely").touch()
    files.save(1, tmp_path / "model.likely")
    assert files.load(tmp_path / "model.likely") == 1


def test_leaves_folders_alone(tmp_path):
    with pytest.raises(files.FileError, match="is not a file"):
        files.save(1, tmp_path)


def test_says_when_there_is_no_folder(tmp_path):
    with pytest.raises(files.FileError, match="No such file or directory"):
        files.save(1, tmp_path / "none" / "model.likely")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.likely"
    files.save(1, path, card=False)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(files.FileError, match="No space left"):
        files.save(2, path, card=False)
    assert files.load(path) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["model.likely"]


def test_file_and_folder_are_flushed_in_order(tmp_path, monkeypatch):
    """The bytes before the rename, the rename before the end."""
    seen = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            atomic.os, name, lambda *a, n=name, f=real: (seen.append(n), f(*a))
        )
    files.save(np.zeros(3), tmp_path / "model.likely", card=False)
    assert seen == ["fsync", "replace", "fsync"]


def test_kills_leave_whole_files():
    command = [
        sys.executable,
        ROOT / "tools" / "fuzz_files.py",
        "kills",
        "--count",
        "25",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "25 kills, 0 files not whole" in done.stdout
