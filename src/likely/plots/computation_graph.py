"""The computation graph of a trace: values, with adjoints or tangents below them."""

from typing import Any, Protocol, runtime_checkable

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from likely.plots.style import COLOURS, INK, SOFT

VALUE, ADJOINT, TANGENT = COLOURS[0], COLOURS[1], COLOURS[2]
SCALE = 1 / 92  # inches per unit of the layout


@runtime_checkable
class Drawable(Protocol):
    """An object with a graph of boxes and edges: a trace of `likely.autodiff`."""

    def graph(self) -> Any:
        """Nodes with coordinates and texts, and edges between them."""
        ...


def computation_graph(trace: Drawable, *, title: str = "") -> Figure:
    """Draw the values of a trace as boxes, each below the values it is computed from.

    A box shows the formula of the value, its number in blue and, below, its adjoint in
    orange (for a trace or its reverse pass) or its tangent in green (for its forward
    pass). Arguments have dashed frames; values without a derivative are pale.

    Args:
        trace: a result of `likely.autodiff.trace`, or its `Forward` or `Reverse` pass.
        title: the title of the figure.
    """
    graph = trace.graph()
    top = 24 if title else 0
    drawn = Figure(figsize=(graph.width * SCALE, (graph.height + top) * SCALE))
    ax = drawn.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, graph.width), ylim=(graph.height, -top))
    ax.set_axis_off()
    if title:
        ax.text(12, -6, title, color=INK, size=10, weight="bold")
    for a, b in graph.edges:
        ax.add_patch(_edge(graph.nodes[a], graph.nodes[b]))
    for node in graph.nodes.values():
        _box(ax, node)
    return drawn


def _edge(a: Any, b: Any) -> PathPatch:
    start, end = a.y + a.height / 2, b.y - b.height / 2
    pull = max((end - start) / 2, 14)
    points = [(a.x, start), (a.x, start + pull), (b.x, end - pull), (b.x, end)]
    curve = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
    return PathPatch(curve, fill=False, edgecolor=SOFT, linewidth=0.9, zorder=1)


def _box(ax: Any, node: Any) -> None:
    left, top = node.x - node.width / 2, node.y - node.height / 2
    fade = 1.0 if node.active or node.kind == "input" else 0.5
    frame = FancyBboxPatch(
        (left, top),
        node.width,
        node.height,
        boxstyle="round,pad=0,rounding_size=5",
        facecolor="white",
        edgecolor=VALUE if node.kind == "input" else INK,
        linestyle="--" if node.kind == "input" else "-",
        linewidth=1.6 if node.kind == "output" else 0.8,
        alpha=fade,
        zorder=2,
    )
    ax.add_patch(frame)
    lines = [
        (node.label, INK, "bold"),
        (node.result, VALUE, "normal"),
        (node.adjoint, ADJOINT, "normal"),
        (node.tangent, TANGENT, "normal"),
    ]
    for k, (text, colour, weight) in enumerate(line for line in lines if line[0]):
        ax.text(
            node.x,
            top + 17 + 17 * k,
            text.replace("$", r"\$"),
            color=colour,
            weight=weight,
            alpha=fade,
            ha="center",
            size=8.4,
            family="DejaVu Sans Mono",
            zorder=3,
        )
