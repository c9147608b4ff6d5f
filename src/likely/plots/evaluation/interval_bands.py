"""Intervals of one or several methods along a column, over what was observed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure


def interval_bands(
    x: Any,
    intervals: Mapping[str, tuple[Any, Any]],
    y: Any = None,
    *,
    label: str = "x",
    title: str = "Intervals",
) -> Figure:
    """Draw the ends of intervals along x, a panel for each method, with their widths.

    Args:
        x: (n,) the column along which rows are drawn, in any order.
        intervals: by the name of the method, the lower and upper ends of all rows.
        y: (n,) what was observed; points outside of an interval are drawn in ink.
        label: the label of the horizontal axes.
        title: the title of the figure.
    """
    if not intervals:
        raise InputError("intervals is empty; give pairs of lower and upper ends.")
    x = np.asarray(x, np.float64)
    order = np.argsort(x, kind="stable")
    drawn, axes = figure(3.2 * len(intervals) + 0.6, 3.4, columns=len(intervals))
    for i, (ax, (name, ends)) in enumerate(zip(axes, intervals.items(), strict=True)):
        low, high = (np.asarray(end, np.float64) for end in ends)
        colour = COLOURS[i % len(COLOURS)]
        ax.fill_between(x[order], low[order], high[order], color=colour, alpha=0.25)
        note = f"mean width {np.mean(high - low):.3g}"
        if y is not None:
            seen = np.asarray(y, np.float64)
            inside = (low <= seen) & (seen <= high)
            ax.plot(x[inside], seen[inside], ".", color=SOFT, ms=2.5)
            ax.plot(x[~inside], seen[~inside], ".", color=INK, ms=3.5)
            note += f", covers {inside.mean():.1%}"
        ax.set_title(f"{name}\n{note}", loc="left", fontsize="small", color=INK)
        ax.set_xlabel(label)
        ax.sharey(axes[0])
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
