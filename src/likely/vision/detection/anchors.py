"""Anchors from data: a few sizes of boxes that are near the sizes of all boxes."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.vision.detection.targets import unpacked

ROUNDS = 50


def anchors_of(targets: np.ndarray, anchors: Any) -> tuple[tuple[float, float], ...]:
    """(width, height) of each anchor, in shares of the sides of the image.

    Args:
        targets: (n, m, 5) packed.
        anchors: how many, found as means of clusters of the logarithms of the sides of all
            boxes; or a list of (width, height); or None for none.
    """
    if anchors is None:
        return ()
    if np.ndim(anchors):
        given = np.asarray(anchors, float)
        if given.ndim != 2 or given.shape[1] != 2 or not (given > 0).all():
            raise InputError(
                f"anchors is {anchors}; give a number of them, or (width, height) of each "
                "in shares of the sides of the image."
            )
        return tuple((float(w), float(h)) for w, h in given)
    boxes, _, present = unpacked(targets)
    side = np.log((boxes[..., 2:] - boxes[..., :2])[present > 0])
    order = np.argsort(side.sum(1), kind="stable")
    count = min(int(anchors), len(side))
    if count < 1:
        raise InputError(f"anchors is {anchors}; give at least 1, or None.")
    start = order[np.linspace(0, len(order) - 1, 2 * count + 1).astype(int)[1::2]]
    centres = side[start]
    for _ in range(ROUNDS):
        nearest = ((side[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
        for k in range(count):
            if (nearest == k).any():
                centres[k] = side[nearest == k].mean(0)
    return tuple((float(w), float(h)) for w, h in np.round(np.exp(centres), 6))
