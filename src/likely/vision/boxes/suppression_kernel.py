"""Compiled loops of suppression: candidates in descending order against boxes kept so far.

Two boxes overlap by IoU > t only if their centres are near: along x, with widths w of the
candidate and v of the kept box,

    |Δx| ≤ (w + v)/2 − t·max(w, v) ≤ w·reach,    reach = max(1 − t, (1 − t)/(2t)),

since v ≤ w/t; and likewise along y. So kept boxes lie in a grid by their centres, and a
candidate is compared with those in the cells that it reaches. `suppress_plainly` compares all
pairs and returns the same.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int64

from likely.core.compiled import const, inner, kernel

MAX_REACH = 1e12
"""Stands for "anywhere" where the threshold is 0."""
SLACK = 1.0 + 1e-9
"""Rounding of centres must not hide a box at the edge of the reach."""


@inner
@no_type_check
def _iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    shared = width * height
    return shared / (
        (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    )


@inner
@no_type_check
def _cells(boxes, members, reach, axis):
    """Where the grid begins along an axis, cells per pixel, the number of cells."""
    low, high, side = np.inf, -np.inf, 0.0
    for j in members:
        centre = 0.5 * (boxes[j, axis] + boxes[j, axis + 2])
        low, high = min(low, centre), max(high, centre)
        side += boxes[j, axis + 2] - boxes[j, axis]
    most = int(np.sqrt(len(members))) + 1
    step = max((high - low) / most, reach * side / len(members))
    if not step > 0.0:
        return low, 0.0, 1
    return low, 1.0 / step, min(most, int((high - low) / step) + 1)


@inner
@no_type_check
def _cell(centre, grid):
    """The number of the cell that a centre is in, along an axis."""
    low, per_pixel, count = grid
    return int(min(max((centre - low) * per_pixel, 0.0), count - 1.0))


@inner
@no_type_check
def _one_class(boxes, members, threshold, keep):
    """Mark the boxes to keep among those of one class, in their order."""
    reach = MAX_REACH
    if threshold > 1.0 / MAX_REACH:
        reach = max(1.0 - threshold, 0.5 * (1.0 - threshold) / threshold) * SLACK + 1e-9
    across = _cells(boxes, members, reach, 0)
    down = _cells(boxes, members, reach, 1)
    head = np.full((down[2], across[2]), -1)
    following = np.empty(len(members), np.int64)
    for position in range(len(members)):
        box = boxes[members[position]]
        x, y = 0.5 * (box[0] + box[2]), 0.5 * (box[1] + box[3])
        dx, dy = (box[2] - box[0]) * reach, (box[3] - box[1]) * reach
        hit = False
        for row in range(_cell(y - dy, down), _cell(y + dy, down) + 1):
            for column in range(_cell(x - dx, across), _cell(x + dx, across) + 1):
                k = head[row, column]
                while k >= 0 and not hit:
                    hit = _iou(box, boxes[members[k]]) > threshold
                    k = following[k]
        if not hit:
            row, column = _cell(y, down), _cell(x, across)
            following[position] = head[row, column]
            head[row, column] = position
            keep[members[position]] = True


SIGNATURE = (const(float64, 2), const(int64, 1), const(int64, 1), float64, boolean[::1])


@kernel(int64(*SIGNATURE))
@no_type_check
def suppress(boxes, order, starts, threshold, keep):
    """Mark the boxes to keep; the number of classes.

    Args:
        boxes: (n, 4) corners.
        order: (n,) class by class, within a class by falling score.
        starts: (c + 1,) where each class begins in `order`.
        threshold: a box that overlaps a kept one by more is left out.
        keep: (n,) all false, written.
    """
    for c in range(len(starts) - 1):
        if starts[c + 1] > starts[c]:
            _one_class(boxes, order[starts[c] : starts[c + 1]], threshold, keep)
    return len(starts) - 1


def suppress_plainly(boxes, order, starts, threshold, keep) -> int:
    """What `suppress` computes, pair by pair and without a grid."""
    overlap = _iou.py_func  # the compiled one is not for Python
    for c in range(len(starts) - 1):
        kept: list[int] = []
        for j in order[starts[c] : starts[c + 1]]:
            if not any(overlap(boxes[j], boxes[k]) > threshold for k in kept):
                kept.append(j)
        keep[kept] = True
    return len(starts) - 1


@kernel(
    int64(
        const(float64, 2), float64[::1], const(int64, 1), const(float64, 1), int64[::1]
    )
)
@no_type_check
def decay(boxes, scores, labels, settings, order):
    """Lower the scores of boxes that overlap better ones; the number of boxes left.

    Args:
        boxes: (n, 4) corners.
        scores: (n,), overwritten with the decayed ones.
        labels: (n,) class codes; boxes of different classes leave each other alone.
        settings: sigma (0 for linear decay), IoU above which linear decay begins, the score
            below which a box is left out.
        order: (n,) written: the boxes that are left, by falling decayed score.
    """
    sigma, threshold, least = settings[0], settings[1], settings[2]
    n = len(boxes)
    for i in range(n):
        order[i] = i
    done = 0
    while done < n:
        best = done
        for k in range(done + 1, n):
            a, b = order[k], order[best]
            if scores[a] > scores[b] or (scores[a] == scores[b] and a < b):
                best = k
        order[done], order[best] = order[best], order[done]
        top = order[done]
        if scores[top] < least:
            return done
        done += 1
        for k in range(done, n):
            j = order[k]
            if labels[j] == labels[top]:
                overlap = _iou(boxes[top], boxes[j])
                if sigma > 0.0:
                    scores[j] *= np.exp(-overlap * overlap / sigma)
                elif overlap > threshold:
                    scores[j] *= 1.0 - overlap
    return done
