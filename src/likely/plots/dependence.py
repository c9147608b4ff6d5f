"""Partial dependence: the prediction as a function of one feature."""

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, SOFT, figure


def dependence(
    grid: np.ndarray,
    mean: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    name: str = "x",
    label: str = "prediction",
    title: str = "Partial dependence",
) -> Figure:
    """Draw the mean prediction over a grid, and the predictions of single rows behind it.

    Args:
        grid: the values of the feature, (g,).
        mean: the mean predictions, (g,).
        rows: the predictions of single rows, (n, g); up to 50 are drawn.
        name: the name of the feature.
        label: the label of the predictions.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(5.2, 3.4, title)
    if rows is not None:
        for row in rows[:: max(1, len(rows) // 50)]:
            ax.plot(grid, row, color=SOFT, lw=0.5, alpha=0.5)
    ax.plot(grid, mean, color=COLOURS[1], lw=2.2)
    ax.set(xlabel=name, ylabel=label)
    return drawn
