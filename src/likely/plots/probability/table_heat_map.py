"""A heat map of a table of two variables, with its margins."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_WRITTEN = 100
"""The number of cells up to which probabilities are written into them."""


def table_heat_map(table: Any, *, title: str = "") -> Figure:
    """Draw a table of two variables as colours, with the margins beside it.

    Args:
        table: a joint table of two variables with `values`, `names` and `levels`, such as
            `probability.Table`.
        title: the title of the figure.
    """
    values = np.asarray(table.values, np.float64)
    if values.ndim != 2:
        raise InputError(
            f"the table has {values.ndim} variables; a heat map shows two, so take a marginal "
            "table first."
        )
    drawn, (ax,) = figure(6.0, 4.6)
    grid = drawn.add_gridspec(
        2, 2, width_ratios=(5, 1), height_ratios=(1, 5), hspace=0.02, wspace=0.02
    )
    ax.set_subplotspec(grid[1, 0])
    ax.imshow(values, cmap="Blues", vmin=0, aspect="auto")
    rows, columns = ([str(level) for level in own] for own in table.levels)
    ax.set_xticks(*_ticks(columns))
    ax.set_yticks(*_ticks(rows))
    ax.set(xlabel=table.names[1], ylabel=table.names[0])
    ax.spines[:].set_visible(False)
    if values.size <= MAX_WRITTEN:
        dark = 0.6 * values.max()
        for (i, j), p in np.ndenumerate(values):
            colour = "white" if p > dark else INK
            ax.text(
                j, i, f"{p:.3g}", ha="center", va="center", color=colour, fontsize=9
            )
    top = drawn.add_subplot(grid[0, 0], sharex=ax)
    top.bar(range(len(columns)), values.sum(0), color=COLOURS[0])
    side = drawn.add_subplot(grid[1, 1], sharey=ax)
    side.barh(range(len(rows)), values.sum(1), color=COLOURS[0])
    for margin in (top, side):
        margin.spines[:].set_visible(False)
        margin.tick_params(
            length=0, labelbottom=False, labelleft=False, color=SOFT, labelcolor=INK
        )
    top.set_yticks([])
    side.set_xticks([])
    top.set_title(title, loc="left", color=INK)
    return drawn


def _ticks(labels: list[str]) -> tuple[list[int], list[str]]:
    """At most about twenty labels."""
    every = max(1, len(labels) // 20)
    places = list(range(0, len(labels), every))
    return places, [labels[i] for i in places]
