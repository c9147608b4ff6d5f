"""What a model does in groups of rows: a panel for each measure."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_PANELS_IN_A_ROW = 4


def group_measures(result: Any) -> Figure:
    """Draw the mean of each measure in each group, ± 2 standard errors.

    Groups that are shown to differ from the other rows are in colour.

    Args:
        result: a `Fairness`.
    """
    k, groups = len(result.measures), [str(g) for g in result.groups]
    columns = min(k, MAX_PANELS_IN_A_ROW)
    rows = -(-k // columns)
    height = rows * (0.26 * len(groups) + 1.1)
    drawn, axes = figure(2.3 * columns, height)
    axes[0].remove()
    places = np.arange(len(groups))[::-1]
    for j, name in enumerate(result.measures):
        ax = drawn.add_subplot(rows, columns, j + 1)
        ax.spines[["top", "right"]].set_visible(False)
        for y, part, gap in zip(places, result.parts, result.gaps, strict=True):
            colour = COLOURS[1] if gap[j].shown else COLOURS[0]
            ax.errorbar(
                part[j].value,
                y,
                xerr=2 * part[j].error,
                fmt="o",
                color=colour,
                ms=5,
                lw=1,
            )
        total = np.array([p[j].total for p in result.parts])
        value = np.array([p[j].value for p in result.parts])
        known = np.isfinite(value) & (total > 0)
        if known.any():
            mean = float(np.average(value[known], weights=total[known]))
            ax.axvline(mean, color=SOFT, lw=0.8, ls="--")
        ax.set_yticks(places, groups if j % columns == 0 else [""] * len(groups))
        ax.set_ylim(-0.6, len(groups) - 0.4)
        ax.set_title(name, loc="left", fontsize=9, color=INK)
        ax.tick_params(color=SOFT, labelcolor=INK, labelsize=8)
        ax.locator_params(axis="x", nbins=4)
    return drawn
