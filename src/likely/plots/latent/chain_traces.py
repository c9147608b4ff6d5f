"""The draws of every chain in their order, beside their distributions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.latent.posterior_intervals import chosen
from likely.plots.style import COLOURS, INK, SOFT

BINS = 40
MAX_NUMBERS = 6
"""Numbers that are drawn unless names are given."""


def chain_traces(
    draws: Any, *, names: Sequence[str] | None = None, title: str = "Traces"
) -> Figure:
    """Draw one row for each number: histograms of chains on the left, draws on the right.

    Chains that agree look like one band; one that wanders or stands still does not.
    Divergent draws are marked at the lower edge.

    Args:
        draws: with `values` (chains, draws, d), `names` and maybe `divergent`.
        names: of the numbers to draw; the first six by default.
        title: the title of the figure.
    """
    rows = chosen(draws, names, MAX_NUMBERS)
    drawn = Figure(figsize=(9.0, 0.6 + 1.4 * len(rows)), layout="constrained")
    axes = drawn.subplots(len(rows), 2, squeeze=False, width_ratios=(1, 2.5))
    divergent = getattr(draws, "divergent", None)
    for (left, right), j in zip(axes, rows, strict=True):
        values = draws.values[:, :, j]
        edges = np.histogram_bin_edges(values, BINS)
        for c, chain in enumerate(values):
            colour = COLOURS[c % len(COLOURS)]
            counts, _ = np.histogram(chain, edges, density=True)
            left.stairs(counts, edges, color=colour, lw=1.2)
            right.plot(chain, color=colour, lw=0.5, alpha=0.8, rasterized=True)
        if divergent is not None and np.any(divergent):
            at = np.nonzero(divergent)[1]
            right.plot(at, np.full(len(at), values.min()), "|", color=INK, ms=8)
        left.set(yticks=[], ylabel=draws.names[j])
        left.yaxis.label.set(rotation=0, ha="right", va="center", color=INK)
        for ax in (left, right):
            ax.spines[["top", "right"]].set_visible(False)
            ax.spines[["left", "bottom"]].set_color(SOFT)
            ax.tick_params(color=SOFT, labelcolor=INK)
        left.spines["left"].set_visible(False)
    axes[-1, 1].set_xlabel("draw")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
