"""A dendrogram: which clusters were merged, and at what distance."""

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from likely.core.checks import InputError
from likely.plots.style import COLOURS, SOFT, figure


def dendrogram(
    merges: Any, *, n_clusters: int | None = None, title: str = ""
) -> Figure:
    """Draw the merges of agglomerative clustering as a tree.

    Args:
        merges: (n - 1, 4) such as `AgglomerativeClustering.linkage_matrix_`.
        n_clusters: where to draw a line that cuts the tree into so many clusters.
        title: the title of the figure.
    """
    merges = np.asarray(merges, np.float64)
    if merges.ndim != 2 or merges.shape[1] != 4 or not len(merges):
        raise InputError(
            f"merges has shape {merges.shape}; give the four columns of a linkage."
        )
    n = len(merges) + 1
    children, heights = merges[:, :2].astype(int), merges[:, 2]
    place, height = np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    place[_leaves(children, n)] = np.arange(n)
    lines = []
    for i, (a, b) in enumerate(children):
        place[n + i], height[n + i] = (place[a] + place[b]) / 2, heights[i]
        corners = [(place[a], height[a]), (place[a], heights[i])]
        lines.append([*corners, (place[b], heights[i]), (place[b], height[b])])
    drawn, (ax,) = figure(7.0, 3.4, title)
    ax.add_collection(LineCollection(lines, colors=COLOURS[0], lw=0.9))
    ax.set(xlim=(-1, n), ylim=(0, 1.05 * max(heights.max(), 1e-300)))
    if n_clusters is not None and 1 < n_clusters <= n:
        cut = np.sort(heights)[n - n_clusters - 1 : n - n_clusters + 1].mean()
        ax.axhline(cut, color=SOFT, ls="--", lw=0.9)
    ax.set(xlabel="rows", ylabel="distance", xticks=[])
    return drawn


def _leaves(children: np.ndarray, n: int) -> list[int]:
    """The rows from left to right."""
    found, waiting = [], [2 * n - 2]
    while waiting:
        node = waiting.pop()
        if node < n:
            found.append(node)
        else:
            waiting += children[node - n][::-1].tolist()
    return found
