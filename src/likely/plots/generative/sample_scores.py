"""Scores of generated rows that are shares or areas, beside what is best."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, SOFT, figure


def sample_scores(result: Any) -> Figure:
    """Draw how far generated rows are told apart, realistic, complete, and no copies.

    Args:
        result: a `SampleReport`.
    """
    told, support = result.told_apart, result.support
    rows = [
        ("told apart", told.auc, told.auc_error, 0.5),
        ("precision", *support.precision, None),
        ("recall", *support.recall, None),
        ("density", *support.density, 1.0),
        ("coverage", *support.coverage, None),
    ]
    if result.memorization is not None:
        copied = result.memorization
        rows.append(("near training", copied.share, copied.error, copied.expected))
    drawn, (ax,) = figure(5.6, 0.36 * len(rows) + 1.4, "Generated rows")
    for y, (_, value, error, best) in enumerate(rows[::-1]):
        ax.errorbar(value, y, xerr=2 * error, fmt="o", color=COLOURS[0], ms=5, lw=1)
        if best is not None:
            ax.plot([best, best], [y - 0.3, y + 0.3], color=SOFT, lw=2)
    ax.set_yticks(range(len(rows)), [row[0] for row in rows[::-1]])
    ax.set(xlabel="score (± 2 standard errors); bars: where rows are like real ones")
    return drawn
