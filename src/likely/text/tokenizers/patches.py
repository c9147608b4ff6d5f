"""Patches of images as tokens."""

from typing import Any

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError


def image_patches(images: Any, patch: Any) -> np.ndarray:
    """(n, t, p) the patches of each image, row by row, as vectors of their pixels.

    A patch is a token without a vocabulary: a linear map of its pixels takes the place of the
    lookup of an embedding. `models.VisionTransformer` does it in the same order.

    Args:
        images: (n, h, w, c), or (n, h, w) with one channel.
        patch: the side of a patch in pixels, or its height and width; they divide those of
            the images.
    """
    X = np.asarray(images)
    if X.ndim == 3:
        X = X[..., None]
    if X.ndim != 4:
        raise InputError(
            f"images has shape {np.shape(images)}; give (n, height, width, channels), or "
            "(n, height, width)."
        )
    sides = (patch, patch) if np.ndim(patch) == 0 else tuple(patch)
    if len(sides) != 2:
        raise InputError(f"patch is {patch}; give one side, or a height and a width.")
    p, q = (at_least("patch", side, 1, whole=True) for side in sides)
    n, h, w, c = X.shape
    if h % p or w % q:
        raise InputError(
            f"a patch has {p} x {q} pixels, an image {h} x {w}; give a patch whose sides "
            "divide those of the image."
        )
    X = X.reshape(n, h // p, p, w // q, q, c).transpose(0, 1, 3, 2, 4, 5)
    return X.reshape(n, (h // p) * (w // q), p * q * c)
