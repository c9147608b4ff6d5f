"""A shallow network taken apart, and the regions of networks over their parameters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure, series


def unit_contributions(found: Any, *, title: str = "") -> Figure:
    """Draw pre-activations, activations, weighted activations and the output.

    Of one input they are curves, with the joints marked; of two inputs maps, a row for each unit.

    Args:
        found: from `diagnostics.unit_contributions`.
        title: the title of the figure.
    """
    drawn = _curves(found) if len(found.axes) == 1 else _maps(found)
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _curves(found: Any) -> Figure:
    drawn, axes = figure(14.0, 3.2, columns=4)
    (x,) = found.axes
    for j in range(len(found.pre)):
        colour = COLOURS[j % len(COLOURS)]
        lines = found.pre[j], found.hidden[j], found.weighted[j, 0]
        for ax, line in zip(axes, lines, strict=False):
            ax.plot(x, line, color=colour, lw=1.6)
    for k, y in enumerate(found.output):
        axes[3].plot(x, y, color=INK, lw=1.8, ls=("-", "--")[k % 2])
        at = np.interp(found.joints, x, y)
        axes[3].plot(found.joints, at, "o", color=COLOURS[1], ms=5)
    names = ("z = xw + b", "h = relu(z)", "v h", "y, with joints")
    for ax, name in zip(axes, names, strict=True):
        ax.axhline(0, color=SOFT, lw=0.6, zorder=0)
        ax.set_title(name, loc="left", color=INK)
        ax.set_xlabel("x")
        for at in found.joints:
            ax.axvline(at, color=SOFT, lw=0.5, ls=":", zorder=0)
    return drawn


def _maps(found: Any) -> Figure:
    m = len(found.pre)
    drawn = Figure(figsize=(2.6 * (m + 1), 5.2), layout="constrained")
    grid = drawn.subplots(2, m + 1, squeeze=False)
    for j in range(m):
        _map(grid[0, j], found, found.hidden[j], f"h{j + 1}")
        _map(grid[1, j], found, found.weighted[j, 0], f"v h{j + 1}")
    _map(grid[0, m], found, found.output[0], "y")
    grid[1, m].axis("off")
    return drawn


def _map(ax: Axes, found: Any, values: np.ndarray, name: str) -> None:
    """A map of values, with the borders at which units are 0."""
    ax.pcolormesh(
        *found.axes, values.T, cmap="cividis", shading="nearest", rasterized=True
    )
    for z in found.pre:
        ax.contour(*found.axes, z.T, levels=[0], colors="white", linewidths=0.7)
    ax.set_title(name, loc="left", color=INK)
    ax.set(xticks=[], yticks=[], aspect="equal")


def regions_by_parameters(
    counts: Mapping[str, Any], *, title: str = "Most linear regions of a line"
) -> Figure:
    """Draw the number of linear regions over the number of parameters, by depth.

    Args:
        counts: by name the (m, 2) pairs of parameters and regions.
        title: the title of the figure.
    """
    drawn, (ax,) = figure(6.2, 3.8, title)
    for i, (name, pairs) in enumerate(counts.items()):
        pairs = np.asarray(pairs, float)
        ax.plot(pairs[:, 0], pairs[:, 1], lw=1.5, ms=4, label=name, **series(i))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlabel="parameters", ylabel="linear regions")
    ax.legend(frameon=False, fontsize="small")
    return drawn
