"""Losses on training and held-out rows beside those of simpler and more flexible models."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, figure


def fit_diagnosis(found: Any, *, title: str = "") -> Figure:
    """Draw the losses as points with two standard errors.

    Args:
        found: a result of `diagnostics.diagnose_fit`.
        title: the title of the figure.
    """
    rows = {
        "training rows": found.train,
        "held-out rows": found.held_out,
        found.reference_name: found.reference,
        "one prediction for all": found.null,
    }
    known = {name: score for name, score in rows.items() if score is not None}
    drawn, (ax,) = figure(5.8, 0.5 * len(known) + 1.2, title or f"It {found.kind}")
    for i, score in enumerate(known.values()):
        ax.errorbar(
            score.value,
            i,
            xerr=2 * score.error,
            fmt="o",
            color=COLOURS[i],
            capsize=4,
            ms=6,
        )
    ax.set_yticks(range(len(known)), list(known))
    ax.set_ylim(len(known) - 0.5, -0.5)
    ax.set_xlabel(f"{found.loss} loss")
    return drawn
