"""Suppression: the compiled loops with a grid against plain ones, pair by pair."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from likely.core.checks import InputError
from likely.vision import boxes
from likely.vision.boxes.suppression_kernel import suppress, suppress_plainly

rng = np.random.default_rng(1)


def crowded(n: int, extent: float, rng: np.random.Generator) -> np.ndarray:
    """Boxes of very different sizes, so that the grid has near and far neighbours."""
    size = np.exp(rng.uniform(0, 4, (n, 2)))
    corner = rng.uniform(-extent, extent, (n, 2))
    return np.concatenate([corner, corner + size], 1)


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    st.integers(0, 60),
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]),
    st.sampled_from([0.0, 5.0, 60.0, 1e4]),
    st.integers(0, 10_000),
)
def test_the_grid_loses_no_overlap(n, threshold, extent, seed):
    rng = np.random.default_rng(seed)
    table = crowded(n, extent, rng)
    starts = np.sort(np.array([0, rng.integers(0, n + 1), n]))
    grid, plain = np.zeros(n, bool), np.zeros(n, bool)
    suppress(table, rng.permutation(n), starts, threshold, grid)
    suppress_plainly(table, order := rng.permutation(n), starts, threshold, plain)
    grid[:] = False
    suppress(table, order, starts, threshold, grid)
    np.testing.assert_array_equal(grid, plain)


def nms_by_loops(table, scores, threshold, labels):
    left, kept = list(np.argsort(-scores, kind="stable")), []
    while left:
        best = left.pop(0)
        kept.append(best)
        close = boxes.iou(table[[best]], table)[0] > threshold
        left = [j for j in left if not (close[j] and labels[j] == labels[best])]
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 0.9])
def test_nms_by_classes(threshold):
    table, scores = crowded(150, 40, rng), rng.uniform(size=150).round(2)  # with ties
    labels = np.array(["dog", "cat", "ant"])[rng.integers(0, 3, 150)]
    for given, used in ((None, np.zeros(150)), (labels, labels)):
        kept = boxes.nms(table, scores, iou_threshold=threshold, labels=given)
        assert kept.tolist() == nms_by_loops(table, scores, threshold, used)
    few = boxes.nms(table, scores, iou_threshold=threshold, max_boxes=3)
    assert len(few) == 3


@pytest.mark.parametrize("sigma", [0.5, None])
def test_soft_nms_by_loops(sigma):
    table, scores = crowded(60, 30, rng), rng.uniform(size=60)
    labels = rng.integers(0, 2, 60)
    left, s, expected = set(range(60)), scores.copy(), []
    while left:
        best = max(left, key=lambda j: (s[j], -j))
        if s[best] < 0.05:
            break
        left.remove(best)
        expected.append(best)
        for j in left:
            overlap = boxes.iou(table[[best]], table[[j]])[0, 0]
            if labels[j] != labels[best]:
                continue
            if sigma is None:
                s[j] *= 1 - overlap if overlap > 0.3 else 1
            else:
                s[j] *= np.exp(-(overlap**2) / sigma)
    kept, decayed = boxes.soft_nms(
        table, scores, sigma=sigma, labels=labels, min_score=0.05
    )
    assert kept.tolist() == expected
    np.testing.assert_allclose(decayed, s[expected])
    assert (np.diff(decayed) <= 0).all()


def test_nothing_points_and_twins():
    assert boxes.nms([], []).shape == (0,)
    assert boxes.soft_nms([], [])[0].shape == (0,)
    points = np.full((3, 4), 7.0)  # without area they overlap nothing
    assert boxes.nms(points, [1, 3, 2]).tolist() == [1, 2, 0]
    twins = [[0, 0, 2, 2]] * 3
    assert boxes.nms(twins, [0.5, 0.5, 0.5]).tolist() == [0]
    assert boxes.nms(twins, [0.5, 0.5, 0.5], iou_threshold=1.0).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: boxes.nms([[0, 0, 1, 1]], [1, 2]),
            "scores has shape .2,. but there are 1",
        ),
        (lambda: boxes.nms([[0, 0, 1, 1]], [np.nan]), "scores contains NaN"),
        (lambda: boxes.nms([[0, 0, 1, 1]], [1], iou_threshold=2), "iou_threshold is 2"),
        (lambda: boxes.nms([[0, 0, 1, 1]], [1], labels=[1, 2]), "labels has shape"),
        (lambda: boxes.soft_nms([[0, 0, 1, 1]], [-1]), "at least 0"),
        (lambda: boxes.soft_nms([[0, 0, 1, 1]], [1], sigma=0), "sigma is 0"),
    ],
)
def test_errors_are_sentences(call, words):
    with pytest.raises(InputError, match=words):
        call()
