"""Boxes as offsets from anchors, the numbers that a detector predicts.

    t = ((x − xa)/wa, (y − ya)/ha, log(w/wa), log(h/ha))

with centres (x, y) and sizes (w, h): t = 0 is the anchor itself, and the same t means the
same relative error for small and large boxes.
"""

import math
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.vision.boxes.arrays import as_boxes, as_corners, namespace
from likely.vision.boxes.formats import convert

MIN_SIDE = 1e-6
"""Sides of JAX boxes are taken as at least this long: the logarithm stays finite."""
MAX_LOG_SCALE = math.log(1000 / 16)
"""Predicted boxes are at most this factor, in logarithms, larger than their anchor."""


def encode(boxes: Any, anchors: Any) -> Any:
    """Offsets (..., 4) of boxes from anchors.

    Args:
        boxes: (..., 4) corners, with an area.
        anchors: (..., 4) corners, one for each box, with an area.
    """
    xp = namespace(boxes, anchors)
    (x, size), (xa, sa) = _parts(xp, boxes, "boxes"), _parts(xp, anchors, "anchors")
    return xp.concatenate([(x - xa) / sa, xp.log(size / sa)], -1)


def decode(offsets: Any, anchors: Any) -> Any:
    """Boxes (..., 4), as corners, from their offsets: the inverse of `encode`.

    Args:
        offsets: (..., 4); log sizes above log(1000/16) are taken as that, so that a wild
            prediction does not overflow.
        anchors: (..., 4) corners, one for each row of offsets, with an area.
    """
    xp, offsets = namespace(offsets, anchors), as_boxes(offsets, "offsets")
    xa, sa = _parts(xp, anchors, "anchors")
    size = xp.exp(xp.minimum(offsets[..., 2:], MAX_LOG_SCALE)) * sa
    centre = offsets[..., :2] * sa + xa
    return convert(xp.concatenate([centre, size], -1), "cxcywh", "xyxy")


def _parts(xp: Any, boxes: Any, name: str) -> tuple[Any, Any]:
    """Centres and sizes (..., 2)."""
    array = convert(as_corners(boxes, name), "xyxy", "cxcywh")
    size = array[..., 2:]
    if isinstance(array, np.ndarray) and (size <= 0).any():
        row = int(np.flatnonzero((size <= 0).reshape(-1, 2).any(1))[0])
        raise InputError(
            f"{name} has a box without area in row {row}, which has no logarithm of its "
            "size; leave out such boxes: boxes[area(boxes) > 0]."
        )
    return array[..., :2], xp.maximum(size, MIN_SIDE)
