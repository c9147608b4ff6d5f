"""The ranks of each chain's draws among those of all chains."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binom, rankdata

from likely.plots.latent.posterior_intervals import chosen
from likely.plots.style import COLOURS, INK, SOFT

BINS = 20
MAX_NUMBERS = 6
"""Numbers that are drawn unless names are given."""


def rank_histograms(
    draws: Any,
    *,
    names: Sequence[str] | None = None,
    title: str = "Ranks of the chains",
) -> Figure:
    """Draw a histogram of ranks for each number (row) and chain (column).

    Where chains agree the bars are level, within the band of 95 % of independent draws; a
    slope says that a chain is elsewhere, a bowl or an arch that it is wider or narrower.

    Args:
        draws: with `values` (chains, draws, d) and `names`.
        names: of the numbers to draw; the first six by default.
        title: the title of the figure.
    """
    rows = chosen(draws, names, MAX_NUMBERS)
    chains, n, _ = draws.values.shape
    size = (1.0 + 1.9 * chains, 0.6 + 1.2 * len(rows))
    drawn = Figure(figsize=size, layout="constrained")
    axes = drawn.subplots(len(rows), chains, squeeze=False, sharey=True)
    low, high = binom.ppf([0.025, 0.975], n, 1 / BINS)
    for line, j in zip(axes, rows, strict=True):
        ranks = rankdata(draws.values[:, :, j], axis=None).reshape(chains, n)
        for c, ax in enumerate(line):
            counts, edges = np.histogram(ranks[c], BINS, (0, chains * n + 1))
            ax.axhspan(low, high, color=SOFT, alpha=0.25, lw=0)
            ax.stairs(
                counts, edges, color=COLOURS[c % len(COLOURS)], fill=True, alpha=0.8
            )
            ax.set(
                xticks=[], yticks=[], ylim=(0, max(2.2 * n / BINS, 1.05 * counts.max()))
            )
            ax.spines[["top", "right", "left"]].set_visible(False)
            ax.spines["bottom"].set_color(SOFT)
        line[0].set_ylabel(
            draws.names[j], rotation=0, ha="right", va="center", color=INK
        )
    for c, ax in enumerate(axes[0]):
        ax.set_title(f"chain {c}", color=INK, fontsize="small")
    drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
