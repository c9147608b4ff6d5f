"""A decision tree as boxes and lines."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure


def tree(
    left: np.ndarray,
    words: Sequence[str],
    weight: np.ndarray,
    *,
    max_depth: int = 4,
    title: str = "A decision tree",
) -> Figure:
    """Draw a tree from its root down; "yes" goes left.

    Args:
        left: the left child of each node, the right one is next to it; -1 at a leaf.
        words: what each node asks or answers.
        weight: of the training rows in each node.
        max_depth: deeper branches are drawn as "...".
        title: what the picture shows.
    """
    places: dict[int, tuple[float, int]] = {}
    ends = [0]

    def place(node: int, depth: int) -> float:
        if left[node] < 0 or depth == max_depth:
            ends[0] += 1
            x = float(ends[0])
        else:
            pair = [place(int(left[node]) + side, depth + 1) for side in (0, 1)]
            x = sum(pair) / 2
        places[node] = (x, depth)
        return x

    place(0, 0)
    deepest = max(depth for _, depth in places.values())
    drawn, (ax,) = figure(max(4.0, 1.6 * ends[0]), 1.1 * (deepest + 1) + 0.6)
    for node, (x, depth) in places.items():
        inner = left[node] >= 0 and depth < max_depth
        if inner:
            for side, word in ((0, "yes"), (1, "no")):
                to = places[int(left[node]) + side]
                ax.plot([x, to[0]], [-depth, -to[1]], color=SOFT, lw=1, zorder=1)
                middle = 0.5 * (x + to[0]), -depth - 0.5
                white = {"fc": "white", "ec": "none", "pad": 1}
                ax.text(*middle, word, color=SOFT, fontsize=7, ha="center", bbox=white)
        hidden = left[node] >= 0 and not inner
        text = "..." if hidden else words[node].replace(", ", "\n", 1)
        colour = INK if inner else COLOURS[0]
        ax.text(
            x,
            -depth,
            f"{text}\n{weight[node]:.6g} rows",
            ha="center",
            va="center",
            fontsize=8,
            color=INK,
            zorder=2,
            bbox={"boxstyle": "round", "fc": "white", "ec": colour},
        )
    ax.set(xlim=(0.3, ends[0] + 0.7), ylim=(-deepest - 0.6, 0.6))
    ax.set_axis_off()
    ax.set_title(title, loc="left", color=INK)
    return drawn
