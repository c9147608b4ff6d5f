"""Histograms of oriented gradients as stars of lines, one for each cell."""

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS
from likely.plots.vision.canvas import canvas


def gradient_histograms(
    image: Any, cells: Any, *, pixels_per_cell: Any = 8, title: str = ""
) -> Figure:
    """Draw the edges of each cell: lines at a right angle to the gradients it holds.

    Args:
        image: (h, w) or (h, w, c) that the histograms are of.
        cells: (rows, columns, orientations), from `vision.hog_cells`.
        pixels_per_cell: (rows, columns), or one number for both.
        title: the title of the figure.
    """
    H = np.asarray(cells, np.float64)
    if H.ndim != 3:
        raise InputError(
            f"cells has shape {H.shape}; give what `vision.hog_cells` returns."
        )
    size = np.broadcast_to(pixels_per_cell, 2)
    drawn, ax = canvas(image, title)
    rows, columns, bins = H.shape
    y, x = (
        (np.arange(k) + 0.5) * s - 0.5
        for k, s in zip((rows, columns), size, strict=True)
    )
    angle = (np.arange(bins) + 0.5) * np.pi / bins + np.pi / 2
    reach = 0.5 * size.min() * H / max(H.max(), 1e-300)
    step = reach[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    middle = np.stack(np.meshgrid(x, y), -1)[:, :, None]
    lines = np.stack([middle - step, middle + step], -2).reshape(-1, 2, 2)
    ax.add_collection(LineCollection(list(lines), colors=COLOURS[1], linewidths=0.9))
    return drawn
