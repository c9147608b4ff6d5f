"""How a flow bends a grid: straight lines of latent numbers, as curves between rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

LINES, POINTS, REACH = 13, 121, 2.5
"""Lines in each direction, points of a line, and how far they go in latent numbers."""


def flow_warp(rows: Any, inverse: Callable[[Any], Any], *, title: str = "") -> Figure:
    """Draw a grid of latent numbers beside the curves that a flow makes of it.

    Args:
        rows: (n, 2) rows of the data, drawn behind the curves.
        inverse: from latent numbers (n, 2) to rows, such as `flow.inverse_transform`.
        title: the title of the figure.
    """
    rows = np.asarray(rows, np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InputError(f"rows have shape {rows.shape}; a grid has two columns.")
    ticks, along = np.linspace(-REACH, REACH, LINES), np.linspace(-REACH, REACH, POINTS)
    drawn, (left, right) = figure(8.4, 4.0, columns=2)
    right.scatter(*rows.T, s=5, color=SOFT, linewidths=0)
    for axis in (0, 1):
        for tick in ticks:
            line = np.empty((POINTS, 2))
            line[:, axis], line[:, 1 - axis] = tick, along
            style = {"color": COLOURS[axis], "lw": 1.4 if tick == 0 else 0.7}
            left.plot(*line.T, **style)
            right.plot(*np.asarray(inverse(line), np.float64).T, **style)
    left.set_title("latent numbers z", fontsize=10, color=INK)
    right.set_title("their rows x, and the data", fontsize=10, color=INK)
    drawn.suptitle(title, x=0.02, ha="left", color=INK, fontsize=11)
    return drawn
