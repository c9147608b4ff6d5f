"""Losses of runs with several options of a solver, a point for each seed."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def curriculum_study(study: Any, *, title: str = "Loss after training") -> Figure:
    """Draw the loss of each seed and the mean with two standard errors, by option.

    Args:
        study: from `diagnostics.curriculum_study`.
        title: the title of the figure.
    """
    names = study.names
    drawn, (ax,) = figure(6.4, 0.55 * len(names) + 1.4, title)
    at = np.arange(len(names))[::-1]
    spread = np.linspace(-0.22, 0.22, study.losses.shape[1])
    for i, (place, row) in enumerate(zip(at, study.losses, strict=True)):
        known = np.isfinite(row)
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(row[known], place + spread[known], "o", color=colour, ms=4, alpha=0.6)
        mean = study.mean[i]
        ax.errorbar(
            mean.value, place, xerr=2 * mean.error, fmt="|", ms=16, color=INK, capsize=3
        )
    ax.axvline(study.mean[0].value, color=SOFT, lw=0.7, ls=":", zorder=0)
    ax.set_yticks(at, list(names))
    ax.set(xlabel="nats on the rows of the judgement", ylim=(-0.5, len(names) - 0.5))
    return drawn
