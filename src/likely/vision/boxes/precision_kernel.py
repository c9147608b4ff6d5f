"""Compiled loops of average precision: who found whom, and precision over recall."""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int8, int64, void

from likely.core.compiled import const, inner, kernel

FALSE, TRUE, IGNORED = 0, 1, 2
"""What became of a detection: nothing is there, an object is, or it does not count."""
NEARLY_ONE = 1 - 1e-10
"""A threshold of 1 is met by boxes that are equal but for rounding."""


@inner
@no_type_check
def _partner(overlaps, taken, ignored, regions, threshold):
    """The best free object that a detection overlaps enough, or −1; ignored ones come last."""
    best, found = min(threshold, NEARLY_ONE), -1
    for g in range(len(overlaps)):
        if taken[g] and not regions[g]:
            continue
        if found >= 0 and not ignored[found] and ignored[g]:
            break
        if overlaps[g] >= best:
            best, found = overlaps[g], g
    return found


@kernel(
    void(
        const(float64, 2),
        const(boolean, 1),
        const(boolean, 1),
        const(float64, 1),
        boolean,
        int8[:, ::1],
    )
)
@no_type_check
def find_partners(  # noqa: PLR0917
    overlaps, ignored, regions, thresholds, strict, outcome
):
    """What became of the detections of one class in one image.

    Args:
        overlaps: (d, g) IoU of detections, by falling score, with objects, of which the
            ignored ones come last.
        ignored: (g,) objects that need not be found.
        regions: (g,) ignored regions that any number of detections may fall into.
        thresholds: (t,) the least IoU of a detection with its object.
        strict: whether a detection may only go to the object that it overlaps most (the
            rule of VOC), also if another detection had it before.
        outcome: (t, d) written.
    """
    for t in range(len(thresholds)):
        taken = np.zeros(overlaps.shape[1], np.bool_)
        none = np.zeros(overlaps.shape[1], np.bool_)
        for d in range(overlaps.shape[0]):
            if strict:
                g = _partner(overlaps[d], none, none, regions, thresholds[t])
            else:
                g = _partner(overlaps[d], taken, ignored, regions, thresholds[t])
            if g < 0 or (strict and taken[g] and not ignored[g]):
                outcome[t, d] = FALSE
            else:
                outcome[t, d] = IGNORED if ignored[g] else TRUE
                taken[g] = True


@inner
@no_type_check
def _precision(outcome, weights, positives, recalls, curve):
    """Average precision of one class; `curve` is written, unless `recalls` is empty.

    Precision is made to fall: at each recall it is the best at this or a larger one. With
    `recalls` given its mean over them is returned, else the area under it.
    """
    n = len(outcome)
    recall, precision = np.empty(n), np.empty(n)
    true = false = 0.0
    for i in range(n):
        true += weights[i] if outcome[i] == TRUE else 0.0
        false += weights[i] if outcome[i] == FALSE else 0.0
        recall[i] = true / positives
        precision[i] = true / (true + false) if true > 0.0 else 0.0
    for i in range(n - 2, -1, -1):
        precision[i] = max(precision[i], precision[i + 1])
    if len(recalls) == 0:
        area, before = 0.0, 0.0
        for i in range(n):
            area += (recall[i] - before) * precision[i]
            before = recall[i]
        return area
    i = 0
    for r in range(len(recalls)):
        while i < n and recall[i] < recalls[r]:
            i += 1
        curve[r] = precision[i] if i < n else 0.0
    return curve.mean()


@kernel(
    void(
        const(int8, 2),
        const(int64, 1),
        const(float64, 1),
        const(float64, 2),
        const(float64, 1),
        float64[:, :, ::1],
        float64[:, ::1],
    )
)
@no_type_check
def average_precisions(  # noqa: PLR0917
    outcome, image, objects, weights, recalls, curves, result
):
    """Average precision of one class, for several weightings of the images.

    Args:
        outcome: (t, d) of all detections by falling score, for each threshold.
        image: (d,) the image of each detection.
        objects: (n,) how many objects there are to find in each image.
        weights: (m, n) how often each image counts.
        recalls: (r,) where to read precision; empty for the area under the curve.
        curves: (m, t, r) written: precision at these recalls.
        result: (m, t) written; NaN where no object has weight.
    """
    for m in range(len(weights)):
        positives = (weights[m] * objects).sum()
        for t in range(len(outcome)):
            if positives > 0.0:
                result[m, t] = _precision(
                    outcome[t], weights[m][image], positives, recalls, curves[m, t]
                )
            else:
                result[m, t] = np.nan
                curves[m, t] = np.nan
