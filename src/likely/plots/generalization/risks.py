"""The empirical, held-out and expected risk of a fitted predictor."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def risks(found: Any, *, title: str = "Risks") -> Figure:
    """Draw the risks as points with two standard errors, and the noise as a line.

    Args:
        found: a result of `diagnostics.expected_risk` or `generalization_gap`.
        title: the title of the figure.
    """
    known = {
        "on training rows": found.empirical,
        "on held-out rows": found.held_out,
        "expected": found.expected,
    }
    known = {name: score for name, score in known.items() if score is not None}
    drawn, (ax,) = figure(5.4, 0.6 * len(known) + 1.2, title)
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
    if found.noise is not None:
        ax.axvline(found.noise.value, color=SOFT, ls="dashed", lw=1)
        ax.text(
            found.noise.value, -0.45, " noise", color=INK, fontsize="small", va="center"
        )
    ax.set_yticks(range(len(known)), list(known))
    ax.set_ylim(len(known) - 0.5, -0.7)
    ax.set_xlabel(f"{found.loss} loss")
    return drawn
