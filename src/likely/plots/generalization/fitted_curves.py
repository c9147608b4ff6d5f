"""Fitted models as functions of one column: too simple, right, too flexible."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, INK, SOFT, figure

GRID = 400
MARGIN = 0.35
"""How far beyond the targets the vertical axis reaches, as a share of their range."""


def fitted_curves(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    truth: Callable[[np.ndarray], np.ndarray] | None = None,
    title: str = "",
) -> Figure:
    """Draw fitted regressors over the rows that they were fitted to, a panel for each.

    Above each panel stands its mean squared error on these rows, and, where the truth is known,
    its mean squared distance from it.

    Args:
        models: fitted regressors by name.
        X: (n, 1) inputs.
        y: (n,) targets.
        truth: E[y | x], a function of rows.
        title: the title of the figure.
    """
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    if X.ndim != 2 or X.shape[1] != 1 or not models:
        raise InputError(
            f"X has shape {X.shape}; curves can be drawn over one column, of one model or "
            "more."
        )
    drawn, axes = figure(3.5 * len(models) + 0.4, 3.3, columns=len(models))
    grid = np.linspace(X.min(), X.max(), GRID)[:, None]
    low, high = y.min(), y.max()
    room = MARGIN * (high - low)
    for i, (ax, (name, model)) in enumerate(zip(axes, models.items(), strict=True)):
        ax.plot(X[:, 0], y, ".", color=SOFT, ms=4, label="rows")
        curve = np.asarray(model.predict(grid))
        ax.plot(grid[:, 0], curve, color=COLOURS[0], lw=1.8, label="fit")
        about = f"{name}: training error {np.mean((model.predict(X) - y) ** 2):.3g}"
        if truth is not None:
            right = np.asarray(truth(grid))
            ax.plot(
                grid[:, 0], right, color=COLOURS[1], lw=1.3, ls="dashed", label="truth"
            )
            about += f"\ndistance from the truth {np.mean((curve - right) ** 2):.3g}"
        ax.set_title(about, loc="left", color=INK, fontsize=9)
        ax.set_ylim(low - room, high + room)
        ax.set_xlabel("x")
        if i == 0:
            ax.legend(frameon=False, fontsize="small")
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
