"""A directed graph without cycles: parents above their children."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

N_SWEEPS = 8
"""Sweeps over the layers that put nodes near their neighbours."""
COLUMN, ROW = 1.5, 1.1
"""Inches between nodes of a layer, and between layers."""


def directed_graph(
    names: Iterable[Any],
    edges: Iterable[tuple[Any, Any]],
    *,
    marked: Collection[Any] = (),
    undirected: Iterable[Collection[Any]] = (),
    title: str = "",
) -> Figure:
    """Draw the graph of a Bayesian network.

    Args:
        names: of the nodes.
        edges: pairs (from, to).
        marked: nodes that are drawn in another colour, such as those that are observed.
        undirected: edges that are drawn without a head, such as those whose direction rows
            cannot tell.
        title: the title of the figure.
    """
    names, edges = tuple(map(str, names)), [(str(a), str(b)) for a, b in edges]
    parents = {n: [a for a, b in edges if b == n] for n in names}
    places = _places(names, parents)
    width = max(x for x, _ in places.values()) - min(x for x, _ in places.values())
    depth = max(y for _, y in places.values())
    size = COLUMN * (width + 1.4), ROW * (depth + 1) + (0.5 if title else 0.2)
    drawn, (ax,) = figure(max(size[0], 3.0), size[1], title)
    loose = {frozenset(map(str, edge)) for edge in undirected}
    for a, b in edges:
        _arrow(ax, places[a], places[b], head=frozenset((a, b)) not in loose)
    own = {str(m) for m in marked}
    for name, (x, y) in places.items():
        colour = COLOURS[1] if name in own else COLOURS[0]
        box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": colour, "lw": 1.5}
        place = {"ha": "center", "va": "center", "zorder": 3}
        ax.text(x, -y, name, fontsize=9, color=INK, bbox=box, **place)
    xs = [x for x, _ in places.values()]
    ax.set(xlim=(min(xs) - 0.7, max(xs) + 0.7), ylim=(-depth - 0.5, 0.5))
    ax.set_axis_off()
    return drawn


def _arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], *, head: bool
) -> None:
    far = end[1] - start[1] > 1.5  # past a layer: around what may stand between
    bend = 0.18 if far else 0.0
    ax.annotate(
        "",
        (end[0], -end[1]),
        (start[0], -start[1]),
        arrowprops={
            "arrowstyle": "-|>" if head else "-",
            "color": SOFT,
            "lw": 1.2,
            "shrinkA": 13,
            "shrinkB": 13,
            "connectionstyle": f"arc3,rad={bend}",
        },
        zorder=1,
    )


def _places(
    names: tuple[str, ...], parents: Mapping[str, list[str]]
) -> dict[str, tuple[float, float]]:
    """(x, layer) of each node: below all its parents, near its neighbours."""
    layer: dict[str, int] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if any(p not in layer for p in parents[name]):
            waiting.append(name)
            continue
        layer[name] = 1 + max((layer[p] for p in parents[name]), default=-1)
    children = {n: [c for c in names if n in parents[c]] for n in names}
    for name in names:  # roots just above their first child
        if not parents[name] and children[name]:
            layer[name] = min(layer[c] for c in children[name]) - 1
    rows = [[n for n in names if layer[n] == k] for k in range(max(layer.values()) + 1)]
    x: dict[str, float] = {}
    for row in rows:
        x |= {n: i - (len(row) - 1) / 2 for i, n in enumerate(row)}
    for sweep in range(N_SWEEPS):
        for row in rows if sweep % 2 else rows[::-1]:
            near = {
                n: [x[m] for m in (*parents[n], *children[n])] or [x[n]] for n in row
            }
            order = sorted(row, key=lambda n: (float(np.mean(near[n])), names.index(n)))
            wanted = [float(np.mean(near[n])) for n in order]
            for i in range(1, len(order)):
                wanted[i] = max(wanted[i], wanted[i - 1] + 1)
            shift = float(np.mean([np.mean(near[n]) for n in order]) - np.mean(wanted))
            x |= {n: w + shift for n, w in zip(order, wanted, strict=True)}
    return {n: (x[n], float(layer[n])) for n in names}
