"""How much worse a model is without each of its blocks."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, SOFT, figure


def ablation(
    found: Any, *, label: str = "rise of the loss", title: str = "Without one block"
) -> Figure:
    """Draw a bar for each block, in the order of the model, coloured by its kind.

    Args:
        found: from `diagnostics.ablation`.
        label: the label of the axis.
        title: the title of the figure.
    """
    rows = found.rows
    drawn, (ax,) = figure(6.0, 0.26 * len(rows) + 1.1, title)
    kinds = list(dict.fromkeys(row.block for row in rows))
    heights = np.arange(len(rows))
    for i, kind in enumerate(kinds):
        at = [j for j, row in enumerate(rows) if row.block == kind]
        rise = [rows[j].rise for j in at]
        colour = COLOURS[i % len(COLOURS)]
        ax.barh(heights[at], rise, color=colour, height=0.7, label=kind)
    ax.axvline(0, color=SOFT, lw=0.8)
    ax.set_yticks(heights, [row.name for row in rows])
    ax.invert_yaxis()
    ax.set(xlabel=f"{label} (whole model: {found.whole:.4g})")
    if len(kinds) > 1:
        ax.legend(frameon=False, fontsize="small")
    return drawn
