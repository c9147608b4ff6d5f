"""Formats of boxes, their area, and the part of them that is inside an image."""

from typing import Any

from likely.core.checks import InputError, check_choice
from likely.vision.boxes.arrays import as_boxes, as_corners, namespace

FORMATS = ("xyxy", "xywh", "cxcywh")


def convert(boxes: Any, source: str, target: str) -> Any:
    """The same boxes in another format.

    Args:
        boxes: (..., 4).
        source: the format they are in: "xyxy" for two corners (x1, y1, x2, y2), "xywh" for
            the upper left corner, width and height, "cxcywh" for the centre, width and
            height.
        target: the format to return, one of the same three.

    Examples:
        >>> lk.boxes.convert([[0.0, 0, 10, 20]], "xyxy", "xywh")
        array([[ 0.,  0., 10., 20.]])
    """
    check_choice("source", source, FORMATS)
    check_choice("target", target, FORMATS)
    xp, array = namespace(boxes), as_boxes(boxes)
    if source == target:
        return array
    first, second = array[..., :2], array[..., 2:]
    if source == "xyxy":
        corner, size = first, second - first
    else:
        corner, size = (first if source == "xywh" else first - second / 2), second
    if target == "xyxy":
        return xp.concatenate([corner, corner + size], -1)
    return xp.concatenate([corner if target == "xywh" else corner + size / 2, size], -1)


def area(boxes: Any) -> Any:
    """The areas (...,) of boxes (..., 4) given by their corners; 0 for a line or a point.

    Examples:
        >>> lk.boxes.area([[0.0, 0, 10, 20]])
        array([200.])
    """
    array = as_corners(boxes)
    return (array[..., 2] - array[..., 0]) * (array[..., 3] - array[..., 1])


def clip(boxes: Any, shape: Any) -> Any:
    """The part of each box that is inside an image.

    A box that is wholly outside becomes one of zero area on the border, so that rows keep
    their place; `area(...) > 0` tells which are left.

    Args:
        boxes: (..., 4) corners.
        shape: (h, w) of the image, more numbers (channels) are not looked at.

    Examples:
        >>> lk.boxes.clip([[-5.0, 0, 10, 20]], (8, 8))
        array([[0., 0., 8., 8.]])
    """
    if len(shape) < 2 or min(shape[:2]) < 0:
        raise InputError(f"shape is {tuple(shape)}; give (h, w) of the image.")
    xp, array = namespace(boxes), as_corners(boxes)
    high = xp.asarray([shape[1], shape[0]] * 2, dtype=array.dtype)
    high = xp.broadcast_to(high, array.shape)
    return xp.minimum(xp.maximum(array, xp.zeros_like(array)), high)
