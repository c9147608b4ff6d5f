"""Fits to many training sets: some of them, their mean, their spread, and the truth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

MAX_POINTS = 200
"""About so many points of a curve are drawn."""
MARGIN = 0.6
"""How far beyond the truth the vertical axis reaches, as a share of its range."""


def repeated_fits(
    found: Any, settings: Sequence[int] = (0,), *, title: str = ""
) -> Figure:
    """Draw fits as functions of one column, a panel for each setting.

    The band is two standard deviations of the fits around their mean.

    Args:
        found: a result of `diagnostics.bias_variance` for inputs of one column.
        settings: the positions of the settings to draw.
        title: the title of the figure.
    """
    drawn, axes = figure(3.6 * len(settings) + 0.6, 3.4, columns=len(settings))
    fits = found.fits
    x = np.asarray(fits.X)[:, 0]
    order = np.argsort(x)[:: max(1, len(x) // MAX_POINTS)]
    x = x[order]
    for ax, k in zip(axes, settings, strict=True):
        for i, curve in enumerate(fits.some[k][:, order]):
            here = ~np.isnan(curve)
            ax.plot(
                x[here], curve[here], color=SOFT, lw=0.6, alpha=0.6,
                label="fits" if i == 0 else None,
            )  # fmt: skip
        mean, std = fits.mean[k][order], fits.std[k][order]
        ax.fill_between(
            x, mean - 2 * std, mean + 2 * std, color=COLOURS[0], alpha=0.18, lw=0
        )
        ax.plot(x, mean, color=COLOURS[0], lw=2, label="mean of fits")
        if fits.truth is None:
            ax.plot(x, fits.y[order], ".", color=COLOURS[1], ms=2, label="y")
        else:
            truth = fits.truth[order]
            ax.plot(x, truth, color=COLOURS[1], lw=1.6, ls="dashed", label="truth")
        ax.set_ylim(*_limits(fits.y if fits.truth is None else fits.truth, mean))
        ax.set_xlabel("x")
        if found.parameter:
            ax.set_title(
                f"{found.parameter} = {found.values[k]}",
                loc="left",
                color=INK,
                fontsize=10,
            )
    axes[0].legend(frameon=False, fontsize="small")
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _limits(target: np.ndarray, mean: np.ndarray) -> tuple[float, float]:
    low, high = float(np.min(target)), float(np.max(target))
    room = MARGIN * max(high - low, 1e-12)
    inside = mean[(mean > low - room) & (mean < high + room)]
    low, high = min(low, *inside, high), max(high, *inside, low)
    return low - room, high + room
