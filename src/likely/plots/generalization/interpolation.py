"""The training error by capacity, down to zero at the interpolation threshold."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, figure


def interpolation(found: Any, *, title: str = "Interpolation threshold") -> Figure:
    """Draw the training errors that a search for the threshold computed.

    Args:
        found: a result of `diagnostics.interpolation_threshold`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(5.6, 3.6, title)
    sizes = np.array(sorted(found.tried))
    errors = np.array([found.tried[size] for size in sizes])
    floor = max(found.tolerance, 1e-300) / 10
    ax.plot(sizes, np.maximum(errors, floor), "o-", color=COLOURS[0], ms=4, lw=1.4)
    ax.set_yscale("log")
    if found.threshold is not None:
        ax.axvline(found.threshold, color=INK, lw=1, ls="dashed")
    ax.set(
        xlabel=f"{found.axis}, of {found.rows} rows",
        ylabel=f"training error, {found.loss}",
    )
    return drawn
