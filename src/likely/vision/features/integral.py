"""Integral images: the sum over any rectangle from four numbers.

S[i, j] = Σ of all pixels above row i and left of column j,
Σ over rows a..b−1 and columns c..d−1 = S[b, d] − S[a, d] − S[b, c] + S[a, c]
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from likely.core.checks import InputError


def integral_image(image: Any) -> Shaped[np.ndarray, "*n h1 w1"]:
    """Sums (..., h + 1, w + 1) over all rectangles that begin at the upper left corner.

    Whole numbers stay whole (int64), so that their sums are exact; others are float64.

    Args:
        image: (h, w), or (..., h, w) for several.
    """
    array = np.asarray(image)
    if array.dtype.kind not in "biuf" or array.ndim < 2:
        raise InputError(
            f"image has shape {array.shape} and type {array.dtype}; give numbers of shape "
            "(h, w), or (..., h, w) for several images of one channel."
        )
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    sums = np.zeros((*array.shape[:-2], array.shape[-2] + 1, array.shape[-1] + 1), kind)
    np.cumsum(array, -2, dtype=kind, out=sums[..., 1:, 1:])
    np.cumsum(sums[..., 1:, 1:], -1, out=sums[..., 1:, 1:])
    return sums


def box_sums(integral: Any, boxes: Any) -> Shaped[np.ndarray, "*n r"]:
    """Sums of the pixels in boxes; what is outside of the image counts as 0.

    Args:
        integral: (..., h + 1, w + 1) from `integral_image`.
        boxes: (r, 4) whole numbers x1, y1, x2, y2; x2 and y2 are the first pixels outside.
    """
    S, table = np.asarray(integral), np.asarray(boxes)
    table = table.reshape(0, 4) if table.shape == (0,) else table
    if (
        table.ndim != 2
        or table.shape[1] != 4
        or not np.array_equal(table, np.rint(table))
    ):
        raise InputError(
            "boxes of whole pixels are (r, 4) whole numbers x1, y1, x2, y2."
        )
    high = [S.shape[-1] - 1, S.shape[-2] - 1] * 2
    x1, y1, x2, y2 = np.clip(table.astype(np.int64), 0, high).T
    return S[..., y2, x2] - S[..., y1, x2] - S[..., y2, x1] + S[..., y1, x1]


def sums_at(
    S: Float[np.ndarray, "h1 w1"],
    top: np.ndarray,
    left: np.ndarray,
    height: Any,
    width: Any,
) -> np.ndarray:
    """Sums over rectangles given by their corner and size, arrays of any one shape."""
    h, w = S.shape[0] - 1, S.shape[1] - 1
    y1, y2 = np.clip(top, 0, h), np.clip(top + height, 0, h)
    x1, x2 = np.clip(left, 0, w), np.clip(left + width, 0, w)
    return S[y2, x2] - S[y1, x2] - S[y2, x1] + S[y1, x1]
