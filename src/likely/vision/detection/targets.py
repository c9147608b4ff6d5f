"""Boxes and classes of images as arrays of one shape, which a training step takes.

Row i of the targets of an image is (class, x0, y0, x1, y1), in shares of the sides of the
image; where an image has fewer objects than there are rows, the class of the others is −1.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

SLOTS = 4
"""Rows of targets are a multiple of this, so that few shapes are compiled."""


class Objects(NamedTuple):
    """The objects of a batch of images, in NumPy or traced."""

    boxes: Any
    """(n, m, 4) corners, in shares of the sides of the image."""
    codes: Any
    """(n, m) classes; 0 where there is none."""
    present: Any
    """(n, m) 1 for an object, 0 for none."""


def packed(boxes: Sequence[np.ndarray], codes: Sequence[np.ndarray]) -> np.ndarray:
    """(n, m, 5) targets.

    Args:
        boxes: for each image (k, 4) corners, in shares of the sides of the image.
        codes: for each image (k,) classes.
    """
    most = max([1, *map(len, boxes)])
    slots = SLOTS * -(-most // SLOTS)
    targets = np.tile(np.array([-1.0, 0.0, 0.0, 1.0, 1.0]), (len(boxes), slots, 1))
    for row, b, c in zip(targets, boxes, codes, strict=True):
        row[: len(b), 0], row[: len(b), 1:] = c, b
    return targets


def unpacked(targets: Any) -> Objects:
    """The objects of packed targets."""
    present = (targets[..., 0] >= 0).astype(targets.dtype)
    codes = (targets[..., 0] * present).astype(int)
    return Objects(targets[..., 1:], codes, present)
