"""Contours of losses over two directions of weights, or curves over one."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series

N_LEVELS, MAX_MARKERS = 16, 15


def loss_landscape(landscape: Any, *, title: str = "") -> Figure:
    """Draw a loss landscape: a panel for each loss, or a curve for each on one direction.

    A ring marks the fitted weights, a star the lowest point of the panel's loss, a grey star that
    of all rows.

    Args:
        landscape: from `diagnostics.loss_landscape`.
        title: the title of the figure.
    """
    if len(landscape.axes) == 1:
        return _curves(landscape, title)
    count = len(landscape.losses)
    drawn, axes = figure(min(4.6 * count, 15.0) + 0.6, 4.2, columns=count)
    for i, (ax, name) in enumerate(zip(axes, landscape.losses, strict=True)):
        _contours(ax, landscape, name)
        for j, (label, path) in enumerate(landscape.paths.items()):
            _path(ax, j, label, path)
        _stars(ax, landscape, name)
        ax.set_title(
            _heading(landscape, name, i), loc="left", color=INK, fontsize="medium"
        )
    if landscape.paths:
        axes[0].legend(framealpha=0.9, edgecolor="none", fontsize="small")
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _heading(landscape: Any, name: str, i: int) -> str:
    return f"loss of {name}" if i < landscape.n_weightings else f"loss + {name}"


def _contours(ax: Axes, landscape: Any, name: str) -> None:
    """Contours at equal steps of the square root of the rise: dense where the loss is low."""
    x, y = landscape.axes
    height = landscape.losses[name].T
    finite = height[np.isfinite(height)]
    low, high = finite.min(), np.quantile(finite, 0.98)
    levels = low + (high - low) * np.linspace(0, 1, N_LEVELS) ** 2
    if high > low:
        greys = [str(1 - d) for d in np.linspace(0, 0.35, N_LEVELS)]
        ax.contourf(x, y, height, levels, colors=greys, extend="max").set_rasterized(
            True
        )
        lines = ax.contour(x, y, height, levels[1:], colors=SOFT, linewidths=0.5)
        ax.clabel(lines, levels[2::4], fmt="%.3g", fontsize="x-small")
    if x[0] < 0 < x[-1]:
        ax.axvline(0, color=SOFT, lw=0.6, ls=":")
    if y[0] < 0 < y[-1]:
        ax.axhline(0, color=SOFT, lw=0.6, ls=":")
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    ax.set(xlabel=landscape.labels[0], ylabel=landscape.labels[1])


def _stars(ax: Axes, landscape: Any, name: str) -> None:
    stations = landscape.stations
    ax.plot(
        *stations["fitted"].point, "o", mfc="none", mec=INK, mew=1.4, ms=9, zorder=5
    )
    if name != "all rows" and stations["fitted"].excess > 1e-6:
        ax.plot(*stations["all rows"].point, "*", color=SOFT, ms=11, zorder=5)
    ax.plot(*stations[name].point, "*", color=COLOURS[1], mec="white", ms=14, zorder=6)


def _path(ax: Axes, i: int, name: str, path: Any) -> None:
    every = max(1, len(path.points) // MAX_MARKERS)
    style = {"mec": "white", "mew": 0.5, **series(i + 2)}
    label = f"{name}, {len(path.points) - 1} steps"
    ax.plot(
        *path.points.T, lw=1.4, ms=4, markevery=every, label=label, zorder=4, **style
    )


def _curves(landscape: Any, title: str) -> Figure:
    drawn, (ax,) = figure(6.4, 4.0, title)
    (x,) = landscape.axes
    for i, (name, loss) in enumerate(landscape.losses.items()):
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(x, loss, color=colour, lw=1.8, label=_heading(landscape, name, i))
        station = landscape.stations[name]
        ax.plot(*station.point, station.loss, "*", color=colour, mec="white", ms=13)
    error = landscape.error
    ax.fill_between(
        x,
        landscape.loss - error,
        landscape.loss + error,
        color=COLOURS[0],
        alpha=0.15,
        lw=0,
    )
    fitted = landscape.stations["fitted"]
    ax.plot(*fitted.point, fitted.loss, "o", mfc="none", mec=INK, mew=1.4, ms=9)
    ax.set(xlabel=landscape.labels[0], ylabel="nats")
    ax.legend(frameon=False, fontsize="small")
    return drawn
