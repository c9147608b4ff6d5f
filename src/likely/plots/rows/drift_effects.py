"""Drift between two tables: the effect of each column, and which are shown."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_COLUMNS = 25
"""Columns that are drawn, those of the largest effects."""


def drift_effects(result: Any) -> Figure:
    """Draw the gap of each column between two tables, with its error.

    Args:
        result: a `Drift`.
    """
    tests = sorted(result.columns, key=lambda t: t.effect)[-MAX_COLUMNS:]
    drawn, (ax,) = figure(6.2, 0.27 * len(tests) + 1.4, "Drift by column")
    shown = {id(t) for t in result.drifted}
    for y, test in enumerate(tests):
        colour = COLOURS[1] if id(test) in shown else SOFT
        ax.errorbar(
            test.effect, y, xerr=2 * test.error, fmt="o", color=colour, ms=5, lw=0.8
        )
    names = [
        f"{t.column} (missing)" if t.kind == "missing" else t.column for t in tests
    ]
    ax.set_yticks(np.arange(len(tests)), names)
    ax.set_xlim(0, None)
    ax.axvline(0, color=SOFT, lw=0.8)
    ax.set(xlabel="gap between the tables (± 2 standard errors)")
    if np.isfinite(result.auc):
        text = f"classifier: AUC {result.auc:.2f} ± {result.auc_error:.2f}"
        ax.set_title(text, loc="right", fontsize=8, color=INK)
    return drawn
