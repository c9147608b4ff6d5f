"""Training and test error by the capacity of a model, through the interpolation threshold."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

QUARTILES = (0.25, 0.75)


def capacity_curve(found: Any, *, title: str = "") -> Figure:
    """Draw median errors by capacity on logarithmic axes, with quartiles as a band.

    Args:
        found: a result of `diagnostics.double_descent`.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.6, 4.2, title or f"Double descent: {found.model}")
    floor = found.test.min() * 1e-3
    lines = (("test", found.test_errors, "o"), ("training", found.train_errors, "s"))
    for i, (name, errors, marker) in enumerate(lines):
        low, middle, high = np.quantile(
            errors, (QUARTILES[0], 0.5, QUARTILES[1]), axis=0
        )
        shown = np.maximum(middle, floor)
        ax.fill_between(
            found.sizes, np.maximum(low, floor), np.maximum(high, floor),
            color=COLOURS[i], alpha=0.18, lw=0,
        )  # fmt: skip
        ax.plot(
            found.sizes, np.where(middle > floor, middle, np.nan) if i else shown,
            color=COLOURS[i], marker=marker, ms=3.5, lw=1.6, label=f"{name} error",
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    if found.noise:
        ax.axhline(found.noise, color=SOFT, lw=1, ls="dotted", label="noise")
    if found.threshold is not None:
        ax.axvline(found.threshold, color=INK, lw=1, ls="dashed")
        ax.text(
            found.threshold, 0.02, " zero training error", color=INK, fontsize="small",
            transform=ax.get_xaxis_transform(), va="bottom",
        )  # fmt: skip
    ax.set_ylim(max(floor, found.test.min() / 30), 2 * found.test.max())
    ax.set(xlabel=f"{found.axis}, of {found.rows} rows", ylabel=f"{found.loss} loss")
    ax.legend(frameon=False, fontsize="small")
    return drawn
