"""Anchors: boxes of a few sizes and shapes around every cell of a feature map."""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError


def anchors(
    shape: Any,
    *,
    stride: float | int,
    sizes: Any,
    ratios: Any = (1.0,),
) -> Float[np.ndarray, "a 4"]:
    """Corners of h·w·k anchors, cell by cell along the rows, k = sizes · ratios for each.

    An anchor of size s and ratio r is s/√r wide and s·√r high, so that all of a size have
    the area s², and is centred at ((column + ½)·stride, (row + ½)·stride).

    Args:
        shape: (h, w) of the feature map.
        stride: pixels of the image for each cell.
        sizes: side lengths, in pixels of the image.
        ratios: height / width.
    """
    h, w = (int(s) for s in shape[:2])
    s = np.asarray(sizes, np.float64)[:, None]
    r = np.asarray(ratios, np.float64)[None, :]
    if min(h, w) < 1 or not stride > 0 or not (s.size and r.size):
        raise InputError(
            f"shape {tuple(shape)}, stride {stride} and {s.size}·{r.size} sizes and ratios "
            "make no anchors; give a feature map of at least one cell, a positive stride, "
            "and at least one size and one ratio."
        )
    if (s <= 0).any() or (r <= 0).any():
        raise InputError("sizes and ratios of anchors have to be positive.")
    half = np.stack([s / np.sqrt(r), s * np.sqrt(r)], -1).reshape(-1, 2) / 2
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    centre = (np.stack([x, y], -1).reshape(-1, 1, 2) + 0.5) * stride
    return np.concatenate([centre - half, centre + half], -1).reshape(-1, 4)
