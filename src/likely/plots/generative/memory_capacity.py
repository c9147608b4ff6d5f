"""How well a Hopfield network recalls, over the number of patterns that it stores."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import INK, SOFT, figure, series


def memory_capacity(studies: Mapping[str, Any], *, title: str = "") -> Figure:
    """Draw overlaps after recall against patterns per unit, with their standard errors.

    Args:
        studies: results of `hopfield_capacity` by the names of the rules.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(5.5, 3.4, title)
    for i, (name, study) in enumerate(studies.items()):
        ax.errorbar(
            study.loads, study.overlap, 2 * study.error, label=name, capsize=2,
            lw=1.2, ms=4, **series(i),
        )  # fmt: skip
        if (study.theory == study.theory).all():
            ax.plot(
                study.loads, study.theory, ":", color=SOFT, label="many units, theory"
            )
            ax.axvline(study.critical, color=SOFT, lw=0.8, ls="--")
    ax.set(
        xlabel="patterns per unit", ylabel="overlap with the pattern", ylim=(0, 1.05)
    )
    ax.legend(frameon=False, fontsize=8, labelcolor=INK)
    return drawn
