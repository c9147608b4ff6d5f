"""What every network has, of detectors: resumed runs, members, precision, devices, progress."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from registries.detectors import DETECTORS

import likely as lk
from likely import data
from likely.vision.detection.calibration import partners

pytestmark = pytest.mark.slow
KINDS = ["YOLO", "R-CNN", "Fast R-CNN", "Faster R-CNN", "DETR"]
TESTS = Path(__file__).parent.parent
SCENES = """
import json, os, signal, sys
import numpy as np
import likely as lk
from registries.detectors import DETECTORS
made = lk.data.shape_scenes(24, size=16, count=(0, 2), sides=(6, 9), random_state=0)
given = made.images, made.boxes, made.labels
model = DETECTORS[sys.argv[1]]().set_params(max_iter=12, early_stopping=False)
"""
KILLED = (
    SCENES
    + """
where, out, stop = sys.argv[2], sys.argv[3], int(sys.argv[4])
def kill(event):
    if stop and event.step >= stop:
        os.kill(os.getpid(), signal.SIGKILL)
saved = lk.solvers.training.Checkpoints(where, every_steps=5)
model.fit(*given, checkpoints=saved, resume=True, callbacks=kill)
found = model.predict(made.images, min_score=0.0)
np.save(out, np.concatenate([np.c_[each.boxes, each.scores] for each in found]))
"""
)
SHARED = (
    SCENES
    + """
lk.tune_host(devices=2)
import jax
mesh = jax.make_mesh((2,), ("rows",))
model.set_params(norm=None)
losses = [model.fit(*given, mesh=m).history_["loss"].tolist() for m in (None, mesh)]
print(json.dumps([jax.device_count(), losses]))
"""
)


def program(text, *arguments):
    """A process of its own that runs a program."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def scenes():
    return data.shape_scenes(24, size=16, count=(0, 2), sides=(6, 9), random_state=0)


@pytest.mark.parametrize("name", ["YOLO", "Faster R-CNN", "DETR"])
def test_a_killed_run_goes_on_to_the_same_bits(name, tmp_path):
    def run(folder, stop):
        out = tmp_path / f"{folder}.npy"
        return program(KILLED, name, tmp_path / folder, out, stop)

    assert run("killed", 13).returncode == -signal.SIGKILL
    assert any((tmp_path / "killed").iterdir())
    for folder in ("killed", "whole"):
        done = run(folder, 0)
        assert done.returncode == 0, done.stderr.decode()
    found = [np.load(tmp_path / f"{folder}.npy") for folder in ("killed", "whole")]
    assert len(found[0])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", KINDS)
def test_devices_share_each_batch(name):
    """Two devices see the same losses as one, but for rounding."""
    done = program(SHARED, name)
    assert done.returncode == 0, done.stderr.decode()
    devices, (one, two) = json.loads(done.stdout)
    assert devices == 2
    np.testing.assert_allclose(one[:3], two[:3], rtol=1e-3)
    np.testing.assert_allclose(one, two, rtol=0.1)


@pytest.mark.parametrize("name", KINDS)
def test_members_are_trained_as_one_program_and_merged(name, scenes):
    several = DETECTORS[name]().set_params(n_members=2, max_iter=2)
    several.fit(scenes.images, scenes.boxes, scenes.labels)
    losses = np.asarray(several.history_["loss"])
    assert losses.ndim == 2
    assert (losses[0] != losses[1]).any()
    assert len(several.predict(scenes.images, min_score=0.0)) == 24


@pytest.mark.parametrize("name", KINDS)
def test_half_precision(name, scenes):
    made = DETECTORS[name]().set_params(dtype="bfloat16", max_iter=2)
    made.fit(scenes.images, scenes.boxes, scenes.labels)
    assert np.isfinite(made.loss_)
    whole = DETECTORS[name]().set_params(max_iter=2)
    whole.fit(scenes.images, scenes.boxes, scenes.labels)
    first, other = made.history_["loss"][0], whole.history_["loss"][0]
    assert first == pytest.approx(other, rel=0.05)
    assert first != other


def test_a_progress_bar_is_drawn(scenes, capsys):
    made = DETECTORS["YOLO"]().set_params(max_iter=2, verbose=True)
    made.fit(scenes.images, scenes.boxes, scenes.labels)
    assert "loss" in capsys.readouterr().err


def test_margins_hold_the_objects_of_new_scenes():
    """Of detections that are right, boxes with margins hold as many as asked for."""
    sizes = {"size": 32, "count": (1, 3), "sides": (8, 14)}
    made = data.shape_scenes(400, **sizes, random_state=0)
    test = data.shape_scenes(400, **sizes, random_state=1)
    model = lk.YOLODetector((8, 16, 32), 1, max_iter=30, batch_size=16)
    model.set_params(validation_fraction=0.25)
    model.fit(made.images, made.boxes, made.labels)
    for coverage in (0.6, 0.9):
        inside = []
        for each, boxes, names in zip(
            model.predict(test.images, min_score=0.0, coverage=coverage),
            test.boxes,
            test.labels,
            strict=True,
        ):
            partner = partners(each.boxes, each.labels, each.scores, boxes, names)
            found, true = each.outer[partner >= 0], boxes[partner[partner >= 0]]
            inside.append(
                (found[:, :2] <= true[:, :2]).all(1)
                & (found[:, 2:] >= true[:, 2:]).all(1)
            )
        share = np.concatenate(inside).mean()
        print(f"coverage asked for {coverage}, seen {share:.3f}")
        assert share == pytest.approx(coverage, abs=0.07)
