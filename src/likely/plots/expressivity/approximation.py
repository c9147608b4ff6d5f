"""A function and the network that was built to approximate it, with the error between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

POINTS, SIDE = 2001, 121


def approximation(found: Any, *, title: str = "") -> Figure:
    """Draw a function of one or two numbers, its network, and the error.

    Args:
        found: from `diagnostics.interval_network`, `spline_network`, `box_network` and the like.
        title: the title of the figure.
    """
    if len(found.low) == 1:
        return _curve(found, title)
    return _maps(found, title)


def approximations(networks: Sequence[Any], *, title: str = "") -> Figure:
    """Draw networks that approximate the same function of a number, a panel for each.

    Args:
        networks: results of `diagnostics.spline_network` and the like.
        title: the title of the figure.
    """
    drawn, axes = figure(3.2 * len(networks), 3.0, columns=len(networks))
    for ax, found in zip(axes, networks, strict=True):
        x = np.linspace(found.low[0], found.high[0], POINTS)
        ax.plot(x, found.function(x), color=SOFT, lw=2.4, label="function")
        ax.plot(x, found(x), color=COLOURS[1], lw=1.4, label="network")
        name = f"{sum(found.units)} units, error {found.error:.2g}"
        ax.set_title(name, loc="left", color=INK, fontsize="medium")
        ax.set_xlabel("x")
    axes[0].legend(frameon=False, fontsize="small")
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _curve(found: Any, title: str) -> Figure:
    drawn, (left, right) = figure(9.6, 3.4, columns=2)
    x = np.linspace(found.low[0], found.high[0], POINTS)
    truth = np.array([float(v) for v in np.ravel(found.function(x))])
    network = found(x)
    left.plot(x, network, color=COLOURS[1], lw=1.4, label=f"{sum(found.units)} units")
    left.plot(x, truth, color=INK, lw=1, label="function")
    right.plot(x, network - truth, color=COLOURS[0], lw=0.9)
    for level in (-found.epsilon, found.epsilon):
        right.axhline(level, color=SOFT, ls="--", lw=1)
    right.set(xlabel="x", ylabel="error, dashed what is promised")
    left.set_xlabel("x")
    left.legend(frameon=False, fontsize="small")
    left.set_title(title or found.kind, loc="left", color=INK)
    return drawn


def _maps(found: Any, title: str) -> Figure:
    drawn, axes = figure(12.0, 3.6, columns=3)
    sides = [
        np.linspace(a, b, SIDE) for a, b in zip(found.low, found.high, strict=True)
    ]
    sides = sides[:2]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, 2)
    rest = np.tile((found.low + found.high)[2:] / 2, (len(grid), 1))
    points = np.hstack([grid, rest])
    truth = np.asarray(found.function(points), float).reshape(SIDE, SIDE)
    network = found(points).reshape(SIDE, SIDE)
    panels = {"function": truth, found.kind: network, "error": network - truth}
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        most = np.abs(values).max() if name == "error" else None
        style: dict[str, Any] = {"cmap": "cividis"}
        if most:
            style = {"cmap": "PuOr", "vmin": -most, "vmax": most}
        mesh = ax.pcolormesh(
            *sides, values.T, shading="nearest", rasterized=True, **style
        )
        drawn.colorbar(mesh, ax=ax)
        ax.set_title(name, loc="left", color=INK)
        ax.set(xlabel="x₁", ylabel="x₂")
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn
