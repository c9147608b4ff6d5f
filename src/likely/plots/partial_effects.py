"""Partial effects of single columns, with confidence bands."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure


def partial_effects(
    effects: Mapping[str, Any],
    rows: Mapping[str, np.ndarray] | None = None,
    *,
    label: str = "effect on η",
    title: str = "Partial effects",
) -> Figure:
    """Draw one panel for each column: the effect over its range, with its band.

    Args:
        effects: results of `partial_effect` by the name of the column: objects with
            arrays `x`, `effect`, `low` and `high`.
        rows: the data of the columns, drawn as a rug at the bottom.
        label: the label of the effect.
        title: the title of the figure.
    """
    if not effects:
        raise InputError(
            "effects is empty; give results of partial_effect by column name."
        )
    drawn, axes = figure(3.2 * len(effects), 3.0, title, columns=len(effects))
    for ax, (name, found) in zip(axes, effects.items(), strict=True):
        ax.axhline(0.0, color=SOFT, lw=0.8)
        ax.fill_between(found.x, found.low, found.high, color=COLOURS[0], alpha=0.2)
        ax.plot(found.x, found.effect, color=COLOURS[0], lw=2.0)
        if rows is not None and name in rows:
            floor = np.full(len(rows[name]), 0.02)
            at = ax.get_xaxis_transform()
            ax.plot(rows[name], floor, "|", color=INK, ms=5, alpha=0.4, transform=at)
        ax.set(xlabel=name)
    low = min(ax.get_ylim()[0] for ax in axes)
    high = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, high)
    axes[0].set(ylabel=label)
    return drawn
