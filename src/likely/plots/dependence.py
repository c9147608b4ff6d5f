"""What a model says as one feature moves."""

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def dependence(
    grid: np.ndarray,
    mean: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    name: str = "x",
    label: str = "prediction",
    title: str = "Partial dependence",
) -> Figure:
    """The mean prediction over a grid, and those of single rows behind it.

    Args:
        grid: (g,) values of the feature.
        mean: (g,) mean predictions.
        rows: (n, g) predictions of single rows; up to 50 are drawn.
        name: of the feature.
        label: of what is predicted.
        title: what the picture shows.
    """
    drawn, (ax,) = figure(5.2, 3.4)
    if rows is not None:
        for row in rows[:: max(1, len(rows) // 50)]:
            ax.plot(grid, row, color=SOFT, lw=0.5, alpha=0.5)
    ax.plot(grid, mean, color=COLOURS[1], lw=2.2)
    ax.set(xlabel=name, ylabel=label)
    ax.set_title(title, loc="left", color=INK)
    return drawn
