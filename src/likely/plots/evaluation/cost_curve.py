"""The mean cost of decisions over the threshold they are made by."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_POINTS = 300
"""The most thresholds that are drawn, evenly spread over their ranks."""


def cost_curve(
    curves: Any | Mapping[str, Any],
    *,
    label: str = "threshold on the probability of class 1",
    title: str = "Cost of decisions",
) -> Figure:
    """Draw the mean cost at every threshold, with bands of two standard errors.

    The vertical line is the threshold that the costs ask for, which is the cheapest one where
    probabilities are calibrated; points are the cheapest thresholds on these rows.

    Args:
        curves: a result of `evaluate.cost_curve`, or several by name, of the same costs.
        label: the label of the horizontal axis.
        title: the title of the figure.
    """
    several = curves if isinstance(curves, Mapping) else {"": curves}
    if not several:
        raise InputError(
            "curves is empty; give results of evaluate.cost_curve by name."
        )
    drawn, (ax,) = figure(6.0, 4.0, title)
    top = 0.0
    for i, (name, curve) in enumerate(several.items()):
        colour = COLOURS[i % len(COLOURS)]
        t = len(curve.cost)
        shown = np.unique(np.linspace(0, t - 1, min(t, MAX_POINTS)).round().astype(int))
        delta, cost, error = (a[shown] for a in curve[:3])
        low, high = cost - 2 * error, cost + 2 * error
        ax.fill_between(delta, low, high, step="post", color=colour, alpha=0.15, lw=0)
        least = f"lowest {curve.cost.min():.3g} at {curve.best:.2g}"
        ax.step(
            delta, cost, where="post", color=colour, lw=1.8,
            label=f"{name}: {least}" if name else least,
        )  # fmt: skip
        ax.plot(curve.best, curve.cost.min(), "o", color=colour, mec="white", ms=7)
        top = max(top, float(np.max(high)))
    by_cost = next(iter(several.values())).by_cost
    ax.axvline(by_cost, color=SOFT, lw=1.0, ls="dashed", zorder=1)
    ax.annotate(
        f" by the costs: {by_cost:.3g}", (by_cost, 0.02 * top), color=INK,
        fontsize="small", va="bottom",
    )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1.05 * top), xlabel=label, ylabel="mean cost of a row")
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    return drawn
