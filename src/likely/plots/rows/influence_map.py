"""The influence of rows: residuals against leverage, or losses of rows that are left out."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

N_NAMED = 5
"""Rows whose numbers are written."""
COOKS_CONTOURS = (0.5, 1.0)


def influence_map(result: Any) -> Figure:
    """Draw the rows of a linear model by leverage and residual, with Cook's distances.

    Of other models the rows are drawn by the loss that they have where they are left out,
    against the change of the losses of other rows where these were given.

    Args:
        result: an `Influence`.
    """
    if result.cooks is None:
        return _losses(result)
    drawn, (ax,) = figure(6.0, 4.2, "The influence of rows")
    h, r = result.leverage, result.internal
    size = np.nan_to_num(result.cooks, posinf=0.0)
    most = result.order[:N_NAMED]
    area = 12 + 300 * np.sqrt(size / max(size.max(), 1e-300)) * (size > 0)
    ax.scatter(h, r, s=area, color=COLOURS[0], alpha=0.45, linewidths=0)
    for i in most:
        ax.annotate(
            str(result.rows[i]), (h[i], r[i]), (4, 4), textcoords="offset points",
            color=INK, fontsize=8,
        )  # fmt: skip
    ax.margins(0.08)
    low, high = ax.get_ylim()
    right = ax.get_xlim()[1]
    q = len(result.names)
    grid = np.linspace(max(right / 400, 1e-6), min(right, 0.999), 300)
    for d in COOKS_CONTOURS:
        edge = np.sqrt(d * q * (1 - grid) / grid)
        for sign in (1, -1):
            inside = (sign * edge > low) & (sign * edge < high)
            ax.plot(
                grid[inside], sign * edge[inside], color=COLOURS[1], lw=0.9, ls="--"
            )
            if inside.any():
                end = np.flatnonzero(inside)[-1]
                ax.annotate(
                    f"{d:g}", (grid[end], sign * edge[end]), fontsize=7, color=SOFT
                )
    ax.set_ylim(low, high)
    ax.axhline(0, color=SOFT, lw=0.8)
    ax.set(xlabel="leverage", ylabel="studentised residual")
    ax.set_title(
        "area and dashed lines: Cook's distance", loc="right", fontsize=8, color=SOFT
    )
    return drawn


def _losses(result: Any) -> Figure:
    drawn, (ax,) = figure(6.0, 4.2, "The influence of rows")
    other = result.held_out
    x = result.own
    y = np.arange(len(x)) if other is None else other
    if other is None:
        order = np.argsort(x)
        y = np.empty(len(x))
        y[order] = (np.arange(len(x)) + 1) / len(x)
    elif np.isfinite(result.held_out_error).all():
        ax.errorbar(
            x, y, yerr=2 * result.held_out_error, fmt="none", ecolor=SOFT, lw=0.7
        )
    ax.scatter(x, y, s=16, color=COLOURS[0], zorder=3)
    for i in result.order[:N_NAMED]:
        ax.annotate(
            str(result.rows[i]), (x[i], y[i]), (4, 4), textcoords="offset points",
            color=INK, fontsize=8,
        )  # fmt: skip
    ax.axvline(0, color=SOFT, lw=0.8)
    label = (
        "share of rows" if other is None else "growth of the loss of other rows, nats"
    )
    if other is not None:
        ax.axhline(0, color=SOFT, lw=0.8)
    ax.set(
        xlabel="growth of the row's own loss where it is left out, nats", ylabel=label
    )
    return drawn
