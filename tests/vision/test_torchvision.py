"""Overlap, suppression and regions against torchvision (tests/golden/vision)."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ledger import ROOT

from likely.vision import boxes

FOLDER = ROOT / "tests" / "golden" / "vision"
FILE = FOLDER / "torchvision.npz"
spec = importlib.util.spec_from_file_location("vision_cases", FOLDER / "cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="no golden arrays")


@pytest.fixture(scope="module")
def golden():
    return np.load(FILE)


@pytest.mark.parametrize("name", ["iou", "giou"])
def test_overlap(golden, name):
    """Theirs is NaN where neither box has an area; ours is 0 there."""
    got = getattr(boxes, name)(cases.boxes(0, 40), cases.boxes(1, 30))
    known = np.isfinite(golden[name])
    assert known.mean() > 0.99
    np.testing.assert_allclose(got[known], golden[name][known], atol=1e-12)
    assert np.isfinite(got).all()


@pytest.mark.parametrize("threshold", cases.NMS_THRESHOLDS)
def test_suppression(golden, threshold):
    table, scores, labels = cases.scored(2, 400)
    kept = boxes.nms(table, scores, iou_threshold=threshold)
    np.testing.assert_array_equal(kept, golden[f"nms {threshold}"])
    kept = boxes.nms(table, scores, iou_threshold=threshold, labels=labels)
    np.testing.assert_array_equal(kept, golden[f"batched {threshold}"])


def planes(array):
    """(n·r, c, p, q) -> (n, r, p, q, c)."""
    return array.reshape(2, 6, *array.shape[1:]).transpose(0, 1, 3, 4, 2)


@pytest.mark.parametrize("aligned", [True, False])
def test_align_and_its_slopes(golden, aligned):
    features, regions = cases.feature_map()

    def align(features):
        return boxes.roi_align(
            features, regions, (3, 2), 2, scale=cases.SCALE, aligned=aligned
        )

    np.testing.assert_allclose(
        align(features), planes(golden[f"align {aligned}"]), atol=1e-5
    )
    slopes = jax.grad(lambda f: (align(f) ** 2).sum())(jnp.asarray(features))
    theirs = golden[f"slopes {aligned}"].transpose(0, 2, 3, 1)
    np.testing.assert_allclose(slopes, theirs, atol=1e-4)


def test_pool(golden):
    features, regions = cases.feature_map()
    got = boxes.roi_pool(features, regions, (3, 2), scale=cases.SCALE)
    np.testing.assert_allclose(got, planes(golden["pool"]), atol=1e-6)
