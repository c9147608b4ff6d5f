"""Feature importances with error bars."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def importances(
    values: np.ndarray,
    errors: np.ndarray | None = None,
    *,
    names: Sequence[str] | None = None,
    label: str = "increase of the loss when shuffled, nats",
    title: str = "Feature importances",
) -> Figure:
    """Draw a bar for each feature, the most important one on top.

    Args:
        values: the importances, (d,).
        errors: their standard errors, (d,).
        names: the names of the features.
        label: the label of the axis.
        title: the title of the figure.
    """
    names = [f"x{j}" for j in range(len(values))] if names is None else names
    order = np.argsort(values, kind="stable")
    drawn, (ax,) = figure(6.0, 0.28 * len(values) + 1.1, title)
    heights = np.arange(len(values))
    ax.barh(heights, values[order], color=COLOURS[0], height=0.7)
    if errors is not None:
        ax.errorbar(
            values[order], heights, xerr=2 * errors[order], fmt="none", ecolor=INK, lw=1
        )
        label += " (± 2 standard errors)"
    ax.axvline(0, color=SOFT, lw=0.8)
    ax.set_yticks(heights, [str(names[j]) for j in order])
    ax.set(xlabel=label)
    return drawn
