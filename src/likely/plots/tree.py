"""A drawing of a decision tree."""

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
    """Draw a tree from its root down; the left branch is "yes".

    Args:
        left: the left child of each node, with the right child next to it; -1 at a leaf.
        words: the text of each node: its split or its prediction.
        weight: the weight of the training rows in each node.
        max_depth: deeper branches are drawn as "...".
        title: the title of the figure.
    """
    positions: dict[int, tuple[float, int]] = {}
    leaves = [0]

    def layout(node: int, depth: int) -> float:
        if left[node] < 0 or depth == max_depth:
            leaves[0] += 1
            x = float(leaves[0])
        else:
            pair = [layout(int(left[node]) + side, depth + 1) for side in (0, 1)]
            x = sum(pair) / 2
        positions[node] = (x, depth)
        return x

    layout(0, 0)
    deepest = max(depth for _, depth in positions.values())
    drawn, (ax,) = figure(max(4.0, 1.6 * leaves[0]), 1.1 * (deepest + 1) + 0.6, title)
    for node, (x, depth) in positions.items():
        inner = left[node] >= 0 and depth < max_depth
        if inner:
            for side, word in ((0, "yes"), (1, "no")):
                to = positions[int(left[node]) + side]
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
    ax.set(xlim=(0.3, leaves[0] + 0.7), ylim=(-deepest - 0.6, 0.6))
    ax.set_axis_off()
    return drawn
