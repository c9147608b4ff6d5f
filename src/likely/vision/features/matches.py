"""Keypoints of two images that describe the same thing."""

import numpy as np
from jaxtyping import Int

from likely.core.checks import InputError
from likely.vision.features.keypoints import Keypoints


def match_keypoints(
    a: Keypoints, b: Keypoints, *, ratio: float | int = 0.8, mutual: bool = True
) -> Int[np.ndarray, "k 2"]:
    """Pairs (number in a, number in b), the most alike first.

    A keypoint goes to the one of the other image whose descriptor is nearest, if the second
    nearest is clearly further away: a wrong match has many rivals, a right one has none.

    Args:
        a: of one image.
        b: of the other image, found by the same method.
        ratio: the nearest distance has to be below this share of the second nearest; 1 to
            keep all.
        mutual: whether each also has to be the nearest of its partner.
    """
    A, B = a.descriptors, b.descriptors
    if A.shape[1] != B.shape[1]:
        raise InputError(
            f"descriptors have {A.shape[1]} and {B.shape[1]} entries; match keypoints that "
            "were found by the same method."
        )
    if not 0 < ratio <= 1:
        raise InputError(f"ratio is {ratio}; give a number above 0 and up to 1.")
    if not len(A) or not len(B):
        return np.empty((0, 2), np.int64)
    squares = (A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T
    D = np.sqrt(np.maximum(squares, 0))
    nearest = D.argmin(1)
    rows = np.arange(len(A))
    first = D[rows, nearest]
    clear = np.ones(len(A), bool)
    if len(B) > 1:
        clear = first < ratio * np.partition(D, 1, axis=1)[:, 1] if ratio < 1 else clear
    if mutual:
        clear &= D.argmin(0)[nearest] == rows
    pairs = np.stack([rows, nearest], 1)[clear]
    return pairs[np.argsort(first[clear], kind="stable")]
