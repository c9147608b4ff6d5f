"""Gradient descent at rates below and above 2/L."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

HIGHEST = 1e12
"""Losses above this, in units of that at the start, are cut off."""


def step_limits(found: Any, *, title: str = "Below and above 2/L") -> Figure:
    """Draw the loss of each run, and the factor of a step along the steepest direction.

    Args:
        found: from `diagnostics.step_limits`.
        title: the title of the figure.
    """
    drawn, (left, right) = figure(9.0, 3.6, title, columns=2)
    shades = colormaps["viridis"](np.linspace(0, 0.9, len(found.factors)))
    for colour, c, row in zip(shades, found.factors, found.excess, strict=True):
        values = np.where((row > 0) & (row < HIGHEST * found.start), row, np.nan)
        left.plot(found.steps, values, color=colour, lw=1.4, label=f"{c:g}")
    left.set_yscale("log")
    left.set(xlabel="step", ylabel="f − f*")
    left.legend(frameon=False, fontsize="x-small", title="ηL", ncols=2)
    grid = np.linspace(0, max(2.2, 1.05 * float(found.factors.max())), 50)
    right.plot(grid, np.abs(1 - grid), color=SOFT, lw=1.4, label="abs(1 − ηL)")
    right.plot(
        found.factors,
        np.abs(found.measured),
        "o",
        ms=5,
        color=COLOURS[0],
        label="measured",
    )
    right.axhline(1, color=INK, lw=0.8, ls=":")
    right.axvline(2, color=INK, lw=0.8, ls=":")
    right.set(xlabel="ηL", ylabel="factor of a step")
    right.legend(frameon=False, fontsize="small")
    return drawn
