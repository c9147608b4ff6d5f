"""True against false positives: the ROC curves of classifiers."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, SOFT, figure

DASHES = ("solid", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))


def roc(curves: Any | Mapping[str, Any], *, title: str = "ROC curve") -> Figure:
    """Draw the ROC curves of one or several scores, with the areas under them.

    Args:
        curves: a result of `evaluate.roc_curve`, or several by name.
        title: the title of the figure.
    """
    several = curves if isinstance(curves, Mapping) else {"": curves}
    if not several:
        raise InputError("curves is empty; give results of evaluate.roc_curve by name.")
    drawn, (ax,) = figure(5.0, 5.0, title)
    ax.plot([0, 1], [0, 1], color=SOFT, lw=1.0, ls="dashed", zorder=1)
    for i, (name, curve) in enumerate(several.items()):
        area = f"area {curve.area:.3f}"
        ax.plot(
            curve.false_positive_rate, curve.true_positive_rate, lw=1.8,
            color=COLOURS[i % len(COLOURS)], ls=DASHES[i % len(DASHES)],
            label=f"{name}: {area}" if name else area,
        )  # fmt: skip
    if len(several) == 1:
        ax.fill_between(
            *next(iter(several.values()))[:2], color=COLOURS[0], alpha=0.1, lw=0
        )
    ax.set(
        xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal",
        xlabel="false-positive rate", ylabel="true-positive rate",
    )  # fmt: skip
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return drawn
