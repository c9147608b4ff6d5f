"""A mosaic: a table as rectangles whose areas are its probabilities."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, figure

MAX_VARIABLES = 4
GAPS = (0.02, 0.02, 0.01, 0.006)
"""The gap between the rectangles of each variable, as a share of the side."""
MIN_SHOWN = 0.02
"""The smallest area in which a number is written."""


def mosaic(table: Any, *, title: str = "") -> Figure:
    """Draw a table as rectangles: the first variable divides the width, the second the height.

    Two variables are independent where the lines across run straight through. Colours are
    those of the levels of the last variable; the numbers are probabilities.

    Args:
        table: a joint table with `values`, `names` and `levels`, such as
            `probability.Table`, of one to four variables. For a table of counts, it is the
            table of their shares.
        title: the title of the figure.
    """
    values = np.asarray(table.values, np.float64)
    if not 1 <= values.ndim <= MAX_VARIABLES:
        raise InputError(
            f"the table has {values.ndim} variables; a mosaic shows one to {MAX_VARIABLES}, "
            "so take a marginal table first."
        )
    drawn, (ax,) = figure(6.0, 4.6, title)
    levels = [[str(level) for level in own] for own in table.levels]
    _divide(ax, values, (0.0, 0.0, 1.0, 1.0), 0, float(values.sum()))
    first = values.sum(tuple(range(1, values.ndim)))
    _label(ax.xaxis, _middles(first, GAPS[0]), levels[0])
    ax.set_xlabel(table.names[0])
    if values.ndim > 1:
        column = values[0].sum(tuple(range(1, values.ndim - 1)))
        _label(ax.yaxis, _middles(column, GAPS[1]), levels[1])
        ax.set_ylabel(table.names[1])
    if values.ndim > 2:
        handles = [_patch(i) for i in range(values.shape[-1])]
        ax.legend(
            handles, [f"{table.names[-1]}={level}" for level in levels[-1]], ncols=4,
            frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14),
        )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return drawn


def _divide(
    ax: Axes,
    values: np.ndarray,
    place: tuple[float, float, float, float],
    depth: int,
    total: float,
) -> None:
    """Divide a rectangle among the levels of the first axis, then each part again."""
    x, y, width, height = place
    across = depth % 2 == 0
    shares = values.sum(tuple(range(1, values.ndim)))
    if not shares.sum() > 0:
        return
    gap = GAPS[depth] if len(shares) > 1 else 0.0
    sizes = shares / shares.sum() * (1 - gap * (len(shares) - 1))
    start = 0.0
    for i, size in enumerate(sizes):
        if across:
            part = (x + start * width, y, size * width, height)
        else:
            part = (x, y + start * height, width, size * height)
        start += size + gap
        if values.ndim > 1:
            _divide(ax, values[i], part, depth + 1, total)
        elif size > 0:
            ax.add_patch(_patch(i, part))
            if part[2] * part[3] > MIN_SHOWN and part[2] > 0.11 and part[3] > 0.05:
                centre = part[0] + part[2] / 2, part[1] + part[3] / 2
                number = f"{float(values[i]) / total:.3g}"
                ax.text(
                    *centre, number, ha="center", va="center", color=INK, fontsize=9
                )


def _patch(
    i: int, place: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
) -> Rectangle:
    colour = COLOURS[i % len(COLOURS)]
    return Rectangle(place[:2], *place[2:], facecolor=colour, alpha=0.55, lw=0)


def _middles(shares: np.ndarray, gap: float) -> np.ndarray:
    """Where the middles of the parts of a side are."""
    total = shares.sum()
    shares = shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
    sizes = shares * (1 - gap * (len(shares) - 1))
    ends = np.cumsum(sizes + gap) - gap
    return ends - sizes / 2


def _label(axis: Any, places: np.ndarray, labels: list[str]) -> None:
    axis.set_ticks(places, labels)
