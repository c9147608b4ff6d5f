"""The linear regions of ReLU networks: pieces of a line, or polygons in a plane."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def linear_regions(panels: Mapping[str, Any], *, title: str = "") -> Figure:
    """Draw the linear regions of one or several networks, coloured by their outputs.

    Args:
        panels: by name what `diagnostics.linear_pieces` (one input) or
            `diagnostics.linear_regions` (two inputs) found.
        title: the title of the figure.
    """
    drawn, axes = figure(4.0 * len(panels), 3.9, columns=len(panels))
    for ax, (name, found) in zip(axes, panels.items(), strict=True):
        if isinstance(found, list):
            _polygons(ax, found)
            count = len(found)
        else:
            _pieces(ax, found)
            count = len(found.slopes)
        ax.set_title(f"{name}, {count:,} shown", loc="left", color=INK)
    if title:
        drawn.suptitle(title, x=0.01, ha="left", color=INK)
    return drawn


def _pieces(ax: Axes, found: Any) -> None:
    """The graph of a network with one input, its joints marked."""
    ax.plot(found.x, found.y[:, 0], color=COLOURS[0], lw=1.4)
    ax.plot(found.joints, found.y[1:-1, 0], "o", color=COLOURS[1], ms=3)
    ax.set(xlabel="x", ylabel="y")


def _polygons(ax: Axes, found: list) -> None:
    """The regions of a plane, each in the colour of the output in its middle."""
    corners = [region.corners for region in found]
    middle = [
        float((c.mean(0) @ region.weight + region.bias)[0])
        for c, region in zip(corners, found, strict=True)
    ]
    shades = PolyCollection(corners, array=np.array(middle), cmap="cividis")
    shades.set(edgecolor="white", linewidth=0.4)
    ax.add_collection(shades)
    every = np.concatenate(corners)
    (x0, y0), (x1, y1) = every.min(0), every.max(0)
    ax.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal", xlabel="x₁", ylabel="x₂")
    ax.spines[["left", "bottom"]].set_color(SOFT)
