"""Scores of predictors that learned from real and from synthetic rows."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, figure


def synthetic_training(result: Any) -> Figure:
    """Draw the score of each predictor by real and by synthetic rows, on real test rows.

    Args:
        result: a `SyntheticTraining`.
    """
    places = np.arange(len(result.names))
    drawn, (ax,) = figure(
        5.6, 0.5 * len(places) + 1.5, f"Predicting {result.target} on real rows"
    )
    for shift, colour, word in (
        (0.12, COLOURS[0], "real"),
        (-0.12, COLOURS[1], "synthetic"),
    ):
        scores = getattr(result, word)
        ax.errorbar(
            [s.value for s in scores],
            places + shift,
            xerr=[2 * s.error for s in scores],
            fmt="o",
            color=colour,
            ms=5,
            lw=1,
            label=f"learned from {word} rows",
        )
    ax.set_yticks(places, result.names)
    ax.set_ylim(-0.6, len(places) - 0.4)
    ax.set(xlabel=f"{result.measure} (± 2 standard errors)")
    ax.legend(frameon=False, fontsize=8)
    return drawn
