"""A circuit: sums with their weights, products, and a leaf for each column."""

from typing import Any

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

LEAF_WIDTH, ROW = 0.42, 0.8
"""Inches between leaves, and between layers."""
MAX_LEAVES_WITH_NAMES = 60


def circuit(model: Any, *, max_depth: int = 6, title: str = "") -> Figure:
    """Draw a sum-product network from its root down.

    Args:
        model: a fitted `SumProductNetwork`.
        max_depth: deeper parts are drawn as dots.
        title: the title of the figure.
    """
    own, names = model.circuit_, model.codec_.names
    n_leaves = len(own.leaves)
    places: dict[int, tuple[float, int]] = {}
    edges: list[tuple[int, int, float]] = []
    ends = [0]

    def layout(node: int, depth: int) -> float:
        if node < n_leaves or depth == max_depth:
            ends[0] += 1
            x = float(ends[0])
        else:
            k = node - n_leaves
            span = range(own.starts[k], own.starts[k + 1])
            xs = [layout(int(own.children[e]), depth + 1) for e in span]
            edges.extend((node, int(own.children[e]), float(own.logs[e])) for e in span)
            x = (xs[0] + xs[-1]) / 2
        places[node] = (x, depth)
        return x

    layout(own.n_nodes - 1, 0)
    deepest = max(depth for _, depth in places.values())
    wide = LEAF_WIDTH if ends[0] <= MAX_LEAVES_WITH_NAMES else 0.12
    size = max(4.0, wide * ends[0] + 0.6), ROW * (deepest + 1) + 1.2
    drawn, (ax,) = figure(*size, title)
    for node, child, log in edges:
        (x, y), (to, below) = places[node], places[child]
        is_sum = own.kinds[node - n_leaves] == 0
        weight = 2.718281828**log
        ax.plot(
            [x, to], [-y, -below], color=SOFT, lw=0.6 + 2.5 * weight * is_sum, zorder=1
        )
        if is_sum and ends[0] <= MAX_LEAVES_WITH_NAMES:
            middle = 0.4 * x + 0.6 * to, -0.4 * y - 0.6 * below
            box = {"fc": "white", "ec": "none", "pad": 0.5}
            ax.text(
                *middle, f"{weight:.2f}", fontsize=7, color=INK, ha="center", bbox=box
            )
    for node, (x, y) in places.items():
        if node < n_leaves:
            _leaf(ax, x, y, names[own.leaves[node].column], ends[0])
            continue
        kind = own.kinds[node - n_leaves]
        text = "···" if y == max_depth else "+×"[kind]
        circle = {"boxstyle": "circle,pad=0.2", "fc": "white", "ec": COLOURS[kind]}
        ax.text(
            x, -y, text, ha="center", va="center", fontsize=10, bbox=circle, zorder=2
        )
    ax.set(xlim=(0.3, ends[0] + 0.7), ylim=(-deepest - 1.1, 0.5))
    ax.set_axis_off()
    return drawn


def _leaf(ax: Any, x: float, y: float, name: str, n_leaves: int) -> None:
    ax.plot([x], [-y], "o", color=COLOURS[2], ms=5, zorder=2)
    if n_leaves <= MAX_LEAVES_WITH_NAMES:
        place = {"rotation": 90, "ha": "center", "va": "top", "fontsize": 7}
        ax.text(x, -y - 0.15, name, color=INK, **place)
