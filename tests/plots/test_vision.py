"""Pictures of images with boxes, keypoints, matches and gradients."""

import numpy as np
import pytest

import likely as lk
from likely import plots
from likely.core.checks import InputError

rng = np.random.default_rng(0)
IMAGE = rng.uniform(size=(32, 40))
POINTS = rng.uniform(0, 30, (5, 2))


def test_boxes_with_labels_and_truth(tmp_path):
    found = [[2, 3, 10, 12], [20, 5, 30, 25]]
    figure = plots.boxes(
        IMAGE,
        found,
        labels=["cat", "dog"],
        scores=[0.9, 0.5],
        true_boxes=[[2, 2, 9, 12]],
    )
    figure.savefig(tmp_path / "boxes.png")
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts] == ["cat 0.90", "dog 0.50"]
    edges = [(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in ax.patches]
    assert edges == [(1.5, 1.5, 7, 10), (1.5, 2.5, 8, 9), (19.5, 4.5, 10, 20)]
    assert len(plots.boxes(IMAGE[..., None], []).axes[0].patches) == 0
    with pytest.raises(InputError, match="labels has 1 entries for 2"):
        plots.boxes(IMAGE, found, labels=["cat"])
    with pytest.raises(InputError, match="1, 3 or 4"):
        plots.boxes(IMAGE[None], found)


def test_keypoints_and_matches(tmp_path):
    figure = plots.keypoints(IMAGE, POINTS, scales=np.ones(5), angles=np.zeros(5))
    figure.savefig(tmp_path / "keypoints.png")
    rings, hands = figure.axes[0].collections
    assert len(rings.get_paths()) == len(hands.get_segments()) == 5
    np.testing.assert_allclose(hands.get_segments()[0][1], POINTS[0] + [2, 0])
    assert len(plots.keypoints(IMAGE, POINTS).axes[0].collections) == 1
    matched = plots.keypoint_matches(
        (IMAGE, IMAGE[:20]), POINTS, POINTS, inliers=[1, 1, 0, 0, 1], outline=POINTS[:4]
    )
    matched.savefig(tmp_path / "matches.png")
    wrong, right = matched.axes[0].collections
    assert (len(wrong.get_segments()), len(right.get_segments())) == (2, 3)
    with pytest.raises(InputError, match="one scale and one angle"):
        plots.keypoints(IMAGE, POINTS, scales=[1.0])
    with pytest.raises(InputError, match="as many points"):
        plots.keypoint_matches((IMAGE, IMAGE), POINTS, POINTS[:2])


def test_gradients_and_precision(tmp_path):
    cells = lk.hog_cells(IMAGE)
    figure = plots.gradient_histograms(IMAGE, cells)
    figure.savefig(tmp_path / "hog.png")
    assert len(figure.axes[0].collections[0].get_segments()) == 4 * 5 * 9
    drawn = plots.precision_recall([0, 0.5, 1], [[1, 0.8, 0.6]], names=["cat"])
    assert drawn.axes[0].get_legend().get_texts()[0].get_text() == "cat: 0.800"
    with pytest.raises(InputError, match="hog_cells"):
        plots.gradient_histograms(IMAGE, [1.0])
    with pytest.raises(InputError, match="reads no curve"):
        plots.precision_recall([], [[]])
