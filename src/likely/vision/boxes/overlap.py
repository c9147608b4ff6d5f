r"""How much boxes overlap: intersection over union, and its generalisation.

    IoU(a, b)  = |a ∩ b| / |a ∪ b|
    GIoU(a, b) = IoU − |h \ (a ∪ b)| / |h|,    h the smallest box around both

IoU is 0 for all boxes that do not meet, so its slope does not tell a detector where to move;
GIoU, in (−1, 1], falls further with the distance. Where a box has no area, IoU is 0 (the
limit 0/0 of two equal points is taken as 0 too).
"""

from typing import Any

from likely.core.checks import InputError
from likely.vision.boxes.arrays import as_corners, namespace


def iou(a: Any, b: Any, *, pairwise: bool = True) -> Any:
    """Intersection over union, from 0 (apart) to 1 (equal).

    Args:
        a: (..., n, 4) corners.
        b: (..., m, 4) corners.
        pairwise: whether to return (..., n, m), each of `a` with each of `b`; if not, rows
            with the same number are compared, (..., n).

    Examples:
        >>> lk.boxes.iou([[0.0, 0, 10, 10]], [[5.0, 0, 15, 10]]).round(3)
        array([[0.333]])
    """
    return _overlaps(a, b, pairwise)[0]


def giou(a: Any, b: Any, *, pairwise: bool = True) -> Any:
    """Generalised intersection over union, from −1 (far apart) to 1 (equal).

    Args:
        a: (..., n, 4) corners.
        b: (..., m, 4) corners.
        pairwise: as in `iou`.
    """
    xp = namespace(a, b)
    ratio, union, a, b = _overlaps(a, b, pairwise)
    sides = xp.maximum(a[..., 2:], b[..., 2:]) - xp.minimum(a[..., :2], b[..., :2])
    hull = sides[..., 0] * sides[..., 1]
    return ratio - _ratio(xp, hull - union, hull)


def _overlaps(a: Any, b: Any, pairwise: bool) -> tuple[Any, Any, Any, Any]:
    """IoU, the area of the union, and both boxes with axes that broadcast."""
    xp = namespace(a, b)
    a, b = as_corners(a, "a"), as_corners(b, "b")
    if pairwise:
        if min(a.ndim, b.ndim) < 2:
            raise InputError(
                f"a and b have shapes {a.shape} and {b.shape}; give (n, 4) and (m, 4), "
                "or pairwise=False to compare one with one."
            )
        a, b = a[..., :, None, :], b[..., None, :, :]
    elif a.shape != b.shape:
        raise InputError(
            f"a and b have shapes {a.shape} and {b.shape}; with pairwise=False give as "
            "many boxes of each."
        )
    low, high = xp.maximum(a[..., :2], b[..., :2]), xp.minimum(a[..., 2:], b[..., 2:])
    sides = xp.maximum(high - low, xp.zeros_like(high))
    shared = sides[..., 0] * sides[..., 1]
    union = _area(a) + _area(b) - shared
    return _ratio(xp, shared, union), union, a, b


def _area(boxes: Any) -> Any:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _ratio(xp: Any, part: Any, whole: Any) -> Any:
    """part / whole, and 0 (with a slope of 0) where the whole is nothing."""
    some = whole > 0
    return xp.where(some, part / xp.where(some, whole, xp.ones_like(whole)), 0.0)
