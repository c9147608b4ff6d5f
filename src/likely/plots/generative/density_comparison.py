"""Generative models of one table: nats beside the best, and what each cost."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def density_comparison(result: Any) -> Figure:
    """Draw how much less probable each model finds held-out rows than the best one does.

    Args:
        result: a `DensityComparison`.
    """
    trials = [t for t in result.trials if not t.failure][::-1]
    height = 0.36 * max(len(trials), 1) + 1.6
    drawn, (left, right) = figure(8.4, height, "Held-out rows", columns=2)
    places = np.arange(len(trials))
    best = result.judged[0].name if result.judged else ""
    colours = {"explicit": COLOURS[0], "bound": COLOURS[1], "implicit": SOFT}
    for y, trial in enumerate(trials):
        colour = colours[trial.taxonomy]
        right.plot(max(trial.seconds, 1e-2), y, "o", color=colour, ms=5)
        if trial.losses is None:
            left.text(0, y, "draws rows only", color=INK, va="center", fontsize=8)
            continue
        gap = result.difference(trial.name, best)
        error = 2 * gap.error if np.isfinite(gap.error) else 0.0
        left.errorbar(gap.value, y, xerr=error, fmt="o", color=colour, ms=5, lw=1)
    judged = [t.taxonomy for t in trials[::-1] if t.losses is not None]
    for kind in dict.fromkeys(judged):
        word = "an upper bound" if kind == "bound" else "exact"
        left.plot([], [], "o", color=colours[kind], ms=5, label=word)
    left.set_yticks(places, [t.name for t in trials])
    right.set_yticks(places, [""] * len(trials))
    left.axvline(0, color=SOFT, lw=0.8)
    left.set_xscale("symlog", linthresh=1.0)
    left.set(xlabel="nats per row worse than the best (± 2 standard errors)")
    right.set_xscale("log")
    right.set(xlabel="seconds")
    if any(t.losses is not None for t in trials):
        left.legend(frameon=False, fontsize=8, loc="lower right")
    return drawn
