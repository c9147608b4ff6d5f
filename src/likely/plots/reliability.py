"""Predicted probabilities against the frequencies of what happened."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure, series

BAR_WIDTH = 0.012


def reliability(
    found: Any | Mapping[str, Any],
    *,
    label: str = "predicted probability",
    title: str = "Reliability",
) -> Figure:
    """Draw the frequency in each bin of confidence; right on the diagonal, over a histogram.

    The bars of a point are two standard errors of a frequency if the confidences were
    right: a point whose bar misses the diagonal is not noise.

    Args:
        found: a result of `evaluate.reliability` or `evaluate.reliability_of_events`, or
            several by name.
        label: the label of the horizontal axis.
        title: the title of the figure.
    """
    several = found if isinstance(found, Mapping) else {"": found}
    if not several:
        raise InputError(
            "found is empty; give results of evaluate.reliability by name."
        )
    drawn, (ax,) = figure(5.0, 6.0, title)
    grid = drawn.add_gridspec(2, 1, height_ratios=(6, 1))
    ax.set_subplotspec(grid[0])
    ax.plot([0, 1], [0, 1], color=SOFT, lw=1.0, ls="dashed", zorder=1)
    shares = drawn.add_subplot(grid[1], sharex=ax)
    for i, (name, one) in enumerate(several.items()):
        gap = f"calibration error {one.expected_error:.3f}"
        style = series(i)
        ax.errorbar(
            one.confidence, one.frequency, yerr=2 * one.error, lw=1.6, ms=5.5,
            mec="white", mew=0.6, elinewidth=1.0, ecolor=style["color"],
            label=f"{name}: {gap}" if name else gap, **style,
        )  # fmt: skip
        share = one.weight / one.weight.sum()
        places = one.confidence + BAR_WIDTH * (i - (len(several) - 1) / 2)
        shares.bar(places, share, BAR_WIDTH, color=COLOURS[i % len(COLOURS)])
    ax.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="frequency")
    ax.tick_params(labelbottom=True)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    shares.spines[["top", "right"]].set_visible(False)
    shares.spines[["left", "bottom"]].set_color(SOFT)
    shares.tick_params(color=SOFT, labelcolor=INK, labelsize="small")
    top = max(float(np.max(one.weight / one.weight.sum())) for one in several.values())
    shares.set(ylim=(0, 1.1 * top), ylabel="share", xlabel=label)
    return drawn
