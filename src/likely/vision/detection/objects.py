"""The objects of images as people give them, checked: boxes inside, with areas and labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError

SLACK = 1.0
"""Pixels by which a box may reach outside of its image; it is clipped."""


def checked_boxes(boxes: Any, images: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each image (k, 4) corners in pixels, inside of the image and with an area.

    Args:
        boxes: for each image (k, 4) corners (x0, y0, x1, y1).
        images: checked images.
    """
    if len(boxes) != len(images):
        raise InputError(
            f"there are {len(images)} images and boxes of {len(boxes)}; give an array of "
            "boxes for each image, one of shape (0, 4) where there are none."
        )
    return [
        _of_image(b, image, number)
        for number, (b, image) in enumerate(zip(boxes, images, strict=True))
    ]


def _of_image(boxes: Any, image: np.ndarray, number: int) -> np.ndarray:
    found = np.asarray(boxes, np.float64)
    found = found.reshape(0, 4) if not found.size else found
    if found.ndim != 2 or found.shape[1] != 4 or not np.isfinite(found).all():
        raise InputError(
            f"the boxes of image {number} have shape {np.shape(boxes)}, or are not finite; "
            "give corners (x0, y0, x1, y1), shape (k, 4)."
        )
    h, w = image.shape[:2]
    flat = (found[:, 2:] <= found[:, :2]).any(1)
    outside = (found[:, :2] < -SLACK).any(1) | (
        found[:, 2:] > [w + SLACK, h + SLACK]
    ).any(1)
    for bad, what in ((flat, "has no area"), (outside, "reaches outside of it")):
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"box {row} of image {number}, {found[row].tolist()}, {what}: the image has "
                f"{w} by {h} pixels, and boxes are corners (x0, y0, x1, y1) in pixels; "
                "remove such boxes, or `vision.boxes.clip` them."
            )
    return np.clip(found, 0.0, [w, h, w, h])


def checked_labels(labels: Any, boxes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each image (k,) labels, one for each of its boxes.

    Args:
        labels: for each image (k,) labels.
        boxes: checked boxes.
    """
    if len(labels) != len(boxes):
        raise InputError(
            f"there are boxes of {len(boxes)} images and labels of {len(labels)}; give an "
            "array of labels for each image."
        )
    found = [np.asarray(each).reshape(-1) for each in labels]
    for number, (names, b) in enumerate(zip(found, boxes, strict=True)):
        if len(names) != len(b):
            raise InputError(
                f"image {number} has {len(b)} boxes and {len(names)} labels; give a label "
                "for each box."
            )
    return found


def classes_of(labels: Sequence[np.ndarray]) -> np.ndarray:
    """The labels that occur, sorted."""
    some = [names for names in labels if len(names)]
    if not some:
        raise InputError(
            "no image has a box; a detector learns from boxes, so give some of them."
        )
    words = {names.dtype.kind in "US" for names in some}
    if len(words) > 1:
        raise InputError("labels are texts in some images and numbers in others.")
    return np.unique(np.concatenate(some))


def codes_of(labels: Sequence[np.ndarray], classes: np.ndarray) -> list[np.ndarray]:
    """The numbers of labels among the classes.

    Args:
        labels: for each image (k,) labels.
        classes: the labels of the fit, sorted.
    """
    codes = []
    for number, names in enumerate(labels):
        if not len(names):
            codes.append(np.zeros(0, int))
            continue
        found = np.minimum(np.searchsorted(classes, names), len(classes) - 1)
        if (classes[found] != names).any():
            strange = names[classes[found] != names][0]
            raise InputError(
                f"image {number} has the label {strange!r}, which the fit did not have."
            )
        codes.append(found)
    return codes
