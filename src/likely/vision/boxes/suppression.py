"""Suppression of boxes that say again what a better box has said.

A detector finds the same object several times. Non-maximum suppression goes through the boxes
by falling score and leaves out each that overlaps a kept one of its class by more than a
threshold. Soft suppression keeps them with lower scores,

    s ← s·exp(−IoU²/σ)   or   s ← s·(1 − IoU) where IoU > threshold,

which loses fewer objects that truly stand close together.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError
from likely.vision.boxes.arrays import as_table, one_each, scores_of


def nms(
    boxes: Any,
    scores: Any,
    *,
    iou_threshold: float | int = 0.5,
    labels: Any = None,
    max_boxes: int | None = None,
) -> Int[np.ndarray, " k"]:
    """The numbers of the boxes that non-maximum suppression keeps, by falling score.

    Args:
        boxes: (n, 4) corners.
        scores: (n,); of two equal scores the earlier box goes first.
        iou_threshold: a box is left out if it overlaps a kept one by more than this.
        labels: (n,) classes; boxes of different classes leave each other alone. None for
            one class.
        max_boxes: how many to return at most, the best ones.

    Examples:
        >>> boxes = np.array([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
        >>> lk.boxes.nms(boxes, np.array([0.9, 0.8, 0.7]))
        array([0, 2])
    """
    from likely.vision.boxes.suppression_kernel import suppress

    table, scores, codes = _inputs(boxes, scores, labels)
    _check_threshold(iou_threshold)
    by_score = np.argsort(-scores, kind="stable")
    if labels is None:
        order, starts = by_score, np.array([0, len(table)])
    else:
        order = by_score[np.argsort(codes[by_score], kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    keep = np.zeros(len(table), bool)
    suppress(table, order, starts.astype(np.int64), float(iou_threshold), keep)
    return by_score[keep[by_score]][:max_boxes]


def soft_nms(
    boxes: Any,
    scores: Any,
    *,
    sigma: float | int | None = 0.5,
    iou_threshold: float | int = 0.3,
    labels: Any = None,
    min_score: float | int = 1e-3,
) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """The boxes that soft suppression keeps, and their decayed scores, which fall.

    Args:
        boxes: (n, 4) corners.
        scores: (n,) of at least 0.
        sigma: width σ of the Gaussian decay; None for linear decay.
        iou_threshold: the overlap above which linear decay begins.
        labels: (n,) classes, as in `nms`.
        min_score: boxes are left out when their score has fallen below this.
    """
    from likely.vision.boxes.suppression_kernel import decay

    table, scores, codes = _inputs(boxes, scores, labels)
    _check_threshold(iou_threshold)
    if sigma is not None and not sigma > 0:
        raise InputError(f"sigma is {sigma}; give a positive number, or None.")
    if scores.size and scores.min() < 0:
        raise InputError(
            f"scores has {scores.min()}; soft suppression multiplies scores by numbers "
            "below 1, so give scores of at least 0, such as probabilities."
        )
    decayed, order = scores.copy(), np.empty(len(table), np.int64)
    settings = np.array([sigma or 0.0, iou_threshold, min_score], np.float64)
    order = order[: decay(table, decayed, codes, settings, order)]
    return order, decayed[order]


def _inputs(boxes: Any, scores: Any, labels: Any) -> tuple[np.ndarray, ...]:
    """Corners (n, 4), scores (n,) and class codes (n,)."""
    table = as_table(boxes)
    n = len(table)
    codes = np.zeros(n, np.int64)
    if labels is not None:
        codes = np.unique(one_each(labels, n, "labels"), return_inverse=True)[1]
    return table, scores_of(scores, n), codes.astype(np.int64)


def _check_threshold(value: float | int) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"iou_threshold is {value}; give a number from 0 to 1.")
