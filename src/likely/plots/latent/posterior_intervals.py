"""Posterior means with the intervals around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_NUMBERS = 30
"""Numbers that are drawn unless names are given."""


def chosen(draws: Any, names: Sequence[str] | None, most: int) -> list[int]:
    """Which numbers to draw: those that are named, or the first ones."""
    known = list(draws.names)
    if names is None:
        return list(range(min(len(known), most)))
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(f"there is no number {missing[0]!r}; known are {known[:10]}.")
    return [known.index(name) for name in names]


def posterior_intervals(
    draws: Any,
    *,
    names: Sequence[str] | None = None,
    coverage: tuple[float, float] = (0.5, 0.9),
    title: str = "Posterior intervals",
) -> Figure:
    """Draw the mean of each number with a thick and a thin interval.

    Args:
        draws: with `interval(coverage)`, `mean` and `names`.
        names: of the numbers to draw; the first thirty by default.
        coverage: of the thick and of the thin interval.
        title: the title of the figure.
    """
    rows = chosen(draws, names, MAX_NUMBERS)
    drawn, (ax,) = figure(6.4, 0.9 + 0.32 * len(rows), title)
    inner, outer = (np.asarray(draws.interval(c))[rows] for c in sorted(coverage))
    height = np.arange(len(rows))[::-1]
    ax.axvline(0, color=SOFT, lw=1.0, ls="dashed", zorder=0)
    ax.hlines(height, *outer.T, color=COLOURS[0], lw=1.2)
    ax.hlines(height, *inner.T, color=COLOURS[0], lw=4.0)
    ax.plot(np.asarray(draws.mean)[rows], height, "o", color="white", mec=INK, ms=5)
    ax.set_yticks(height, [draws.names[j] for j in rows])
    low, high = (f"{100 * c:g} %" for c in sorted(coverage))
    ax.set(xlabel=f"value; {low} thick, {high} thin", ylim=(-0.7, len(rows) - 0.3))
    return drawn
