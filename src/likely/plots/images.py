"""A grid of images, filters or feature maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import INK


def images(
    X: Any,
    *,
    titles: Sequence[str] = (),
    columns: int = 8,
    signed: bool = False,
    title: str = "",
) -> Figure:
    """Draw a grid of images, each on its own grey scale.

    Args:
        X: the images, (n, h, w), (n, h, w, 1) or (n, h, w, 3).
        titles: a title for each image.
        columns: the number of columns of the grid.
        signed: whether to use one diverging scale for all: red above 0, blue below.
        title: the title of the figure.
    """
    X = np.asarray(X, np.float64)
    if X.ndim == 4 and X.shape[-1] != 3:
        X = X[..., 0]
    columns = min(columns, len(X))
    rows = -(-len(X) // columns)
    size = (1.1 * columns + 0.2, (1.3 if titles else 1.1) * rows + 0.5 * bool(title))
    drawn = Figure(figsize=size, layout="constrained")
    largest = np.abs(X).max() or 1.0
    style: dict[str, Any] = {"cmap": "gray"}
    if signed:
        style = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    for i, image in enumerate(X):
        ax = drawn.add_subplot(rows, columns, i + 1)
        if image.ndim == 3:
            low, high = image.min(), image.max()
            image = (image - low) / (high - low if high > low else 1.0)
        ax.imshow(image, interpolation="nearest", **style)
        ax.set_axis_off()
        if i < len(titles):
            ax.set_title(titles[i], fontsize="small", color=INK)
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
