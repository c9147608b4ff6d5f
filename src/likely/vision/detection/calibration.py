r"""DetectionCalibration of detections by held-out images: honest scores, and margins that cover.

A detection is right if it overlaps an object of its class, which no better one has found, by at
least half. Its score is $σ(a \log\frac{p}{1-p} + b)$ of what the network says, p, with a and b
of largest likelihood of the detections of held-out images (Platt scaling): the share of right
ones among detections of score s is s.

A box misses its object by r, the largest over its sides of how far the object reaches beyond
it, in units of the box. With q the conformal quantile of r over right detections, moving each
side outwards by q times the box holds the whole object with the probability that was asked for.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from likely.evaluate.conformal import radius
from likely.evaluate.recalibration.platt import platt
from likely.vision.boxes import iou

OVERLAP = 0.5
"""The IoU of a detection with its object from which on it is right."""
EDGE = 1e-6
"""Probabilities are kept this far from 0 and 1."""


class DetectionCalibration(NamedTuple):
    """What held-out images say of detections.

    Attributes:
        slope: a.
        offset: b.
        errors: (r,) by how much boxes miss their objects, of right detections.
    """

    slope: float
    offset: float
    errors: np.ndarray

    def scores(self, p: Any) -> np.ndarray:
        """The calibrated probability of each detection."""
        p = np.clip(np.asarray(p, np.float64), EDGE, 1 - EDGE)
        return expit(self.slope * logit(p) + self.offset)

    def margins(self, boxes: np.ndarray, coverage: float) -> np.ndarray:
        """(k, 4) how far to move the sides of boxes outwards."""
        q = max(0.0, radius(self.errors, coverage)) if len(self.errors) else np.inf
        side = boxes[:, 2:] - boxes[:, :2]
        return q * np.concatenate([side, side], 1)


UNCALIBRATED = DetectionCalibration(1.0, 0.0, np.zeros(0))


def calibrate(
    detections: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    objects: list[tuple[np.ndarray, np.ndarray]],
) -> DetectionCalibration:
    """The calibration by the detections of held-out images.

    Args:
        detections: for each image boxes, classes and probabilities.
        objects: for each image boxes and classes.
    """
    right, p, errors = [], [], []
    for (boxes, codes, probs), (true, names) in zip(detections, objects, strict=True):
        partner = partners(boxes, codes, probs, true, names)
        right.append(partner >= 0)
        p.append(probs)
        errors.append(_missed(boxes[partner >= 0], true[partner[partner >= 0]]))
    happened, p = np.concatenate(right), np.concatenate(p)
    errors = np.concatenate(errors)
    if not happened.any() or happened.all():
        return DetectionCalibration(1.0, 0.0, errors)
    p = np.clip(p, EDGE, 1 - EDGE)
    found = platt(happened.astype(int), np.stack([np.log1p(-p), np.log(p)], 1))
    return DetectionCalibration(
        found.slope, float(found.offset[1] - found.offset[0]), errors
    )


def partners(
    boxes: np.ndarray,
    codes: np.ndarray,
    probs: np.ndarray,
    true: np.ndarray,
    names: np.ndarray,
) -> np.ndarray:
    """(k,) the object that each detection has found, or −1; the most probable go first.

    Args:
        boxes: (k, 4) detections.
        codes: (k,) their classes.
        probs: (k,) their probabilities.
        true: (g, 4) objects.
        names: (g,) their classes.
    """
    partner = np.full(len(boxes), -1)
    if not len(boxes) or not len(true):
        return partner
    overlap = np.where(codes[:, None] == names[None], iou(boxes, true), 0.0)
    for row in np.argsort(-probs, kind="stable"):
        best = int(np.argmax(overlap[row]))
        if overlap[row, best] >= OVERLAP:
            partner[row] = best
            overlap[:, best] = 0.0
    return partner


def _missed(boxes: np.ndarray, true: np.ndarray) -> np.ndarray:
    """How far objects reach beyond their boxes, in units of the sides of these."""
    side = np.maximum(boxes[:, 2:] - boxes[:, :2], EDGE)
    before = (boxes[:, :2] - true[:, :2]) / side
    after = (true[:, 2:] - boxes[:, 2:]) / side
    return np.concatenate([before, after], 1).max(1)
