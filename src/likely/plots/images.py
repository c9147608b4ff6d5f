"""Images, filters and maps side by side."""

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
    """A grid of pictures, each on its own scale of grey.

    Args:
        X: (n, h, w), (n, h, w, 1) or (n, h, w, 3).
        titles: over each.
        columns: how many side by side.
        signed: whether 0 is in the middle: red above, blue below, one scale for all.
        title: what the picture shows.
    """
    X = np.asarray(X, np.float64)
    if X.ndim == 4 and X.shape[-1] != 3:
        X = X[..., 0]
    columns = min(columns, len(X))
    rows = -(-len(X) // columns)
    size = (1.1 * columns + 0.2, (1.3 if titles else 1.1) * rows + 0.5 * bool(title))
    drawn = Figure(figsize=size, layout="constrained")
    most = np.abs(X).max() or 1.0
    style: dict[str, Any] = {"cmap": "gray"}
    if signed:
        style = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
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
