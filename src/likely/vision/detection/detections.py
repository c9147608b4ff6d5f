"""Detections of an image: from all candidates of the members to a few boxes with scores.

Boxes of a class that overlap by more than a threshold are one detection: that of the highest
probability stays (non-maximum suppression). Where there are several members, the probability of a
detection is the mean over members of the best box that each of them has there.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from likely.vision.boxes import iou, nms

MIN_PROBABILITY, MAX_DETECTIONS = 1e-3, 100
"""Candidates below this are left out at once; and the most detections of an image."""


@dataclasses.dataclass(frozen=True, eq=False)
class Detections:
    """What was found in an image, most probable first.

    Attributes:
        boxes: (k, 4) corners (x0, y0, x1, y1) in pixels.
        labels: (k,) what they are.
        scores: (k,) the probability that there is such an object, overlapping the box by
            half.
        margins: (k, 4) pixels by which to move each side outwards, so that the box holds the
            whole object with the probability that was asked for; None where it was not.
    """

    boxes: Float[np.ndarray, "k 4"]
    labels: np.ndarray
    scores: Float[np.ndarray, " k"]
    margins: Float[np.ndarray, "k 4"] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def outer(self) -> Float[np.ndarray, "k 4"]:
        """The boxes with their margins."""
        if self.margins is None:
            return self.boxes
        return self.boxes + self.margins * [-1.0, -1.0, 1.0, 1.0]


def selected(
    boxes: np.ndarray, probs: np.ndarray, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes, classes and probabilities of the detections of one image.

    Args:
        boxes: (m, k, 4) candidates of each member.
        probs: (m, k, c) their probabilities.
        threshold: boxes of a class that overlap by more are one.
    """
    members, _, codes = np.nonzero(probs >= MIN_PROBABILITY)
    p = probs[probs >= MIN_PROBABILITY].astype(np.float64)
    which = np.nonzero(probs >= MIN_PROBABILITY)[1]
    b = boxes[members, which].astype(np.float64)
    b[:, 2:] = np.maximum(b[:, 2:], b[:, :2])
    keep = nms(b, p, iou_threshold=threshold, labels=codes, max_boxes=MAX_DETECTIONS)
    if len(boxes) > 1 and len(keep):
        p = _mean_over_members(b, p, codes, members, keep, len(boxes), threshold)
        keep = keep[np.argsort(-p, kind="stable")]
        p = np.sort(p)[::-1]
        return b[keep], codes[keep], p
    return b[keep], codes[keep], p[keep]


def _mean_over_members(  # noqa: PLR0917
    b: np.ndarray,
    p: np.ndarray,
    codes: np.ndarray,
    members: np.ndarray,
    keep: np.ndarray,
    count: int,
    threshold: float,
) -> np.ndarray:
    """The mean over members of the best probability near each box that is kept."""
    near = (iou(b[keep], b) > threshold) & (codes[keep][:, None] == codes[None])
    best = [
        np.where(near & (members == m)[None], p[None], 0.0).max(1) for m in range(count)
    ]
    return np.mean(best, 0)


def as_lists(found: list[Detections]) -> dict[str, Any]:
    """Boxes, labels and scores of many images, as `mean_average_precision` takes them."""
    return {
        "boxes": [d.boxes for d in found],
        "labels": [d.labels for d in found],
        "scores": [d.scores for d in found],
    }
