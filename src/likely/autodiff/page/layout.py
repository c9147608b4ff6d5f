"""The layout of a computation graph: each value below the values it depends on."""

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from likely.autodiff.program.program import LITERAL, STEP, Program
from likely.autodiff.program.text import array, shape, truncated

if TYPE_CHECKING:
    from likely.autodiff.modes.passes import Forward, Reverse
    from likely.autodiff.modes.trace import Trace

LETTER_WIDTH, LINE_HEIGHT, BOX_GAP, ROW_GAP = 7.9, 17.0, 22.0, 40.0


@dataclass
class Node:
    """A value of the trace, drawn as a box."""

    value: int
    name: str
    label: str
    """The name and the formula of the value."""
    result: str
    adjoint: str
    tangent: str
    kind: str
    """`input`, `constant`, `step` or `output`."""
    active: bool
    """Whether it lies on a path from a variable to the result."""
    layer: int
    width: float
    height: float
    x: float = 0.0
    """The centre of the box."""
    y: float = 0.0


@dataclass(frozen=True)
class Graph:
    """Boxes, and edges as pairs of values (from, to)."""

    nodes: dict[int, Node]
    edges: tuple[tuple[int, int], ...]
    width: float
    height: float


def graph(
    trace: "Trace",
    reverse: "Reverse | None" = None,
    forward: "Forward | None" = None,
) -> Graph:
    """The graph of a trace: boxes with their coordinates, and the edges between them."""
    program, names = trace.program, trace.names
    used = {i for step in program.steps for i in step.inputs} | set(program.outputs)
    drawn = [i for i in sorted(used) if program.values[i].kind != LITERAL]
    layers = _layers(program, set(drawn))
    makers = program.makers()
    nodes = {}
    for i in drawn:
        label = names[i]
        if i in makers:
            label = f"{names[i]} = {trace.formula(makers[i])}"
        elif program.values[i].shape:
            label = f"{names[i]}  ({shape(program.values[i].shape)})"
        texts = [label, array(trace.values[i], 6), "", ""]
        if reverse and i in reverse.adjoints:
            texts[2] = f"{trace.adjoint_name(i)} = {array(reverse.adjoints[i], 6)}"
        if forward and i in forward.tangents:
            texts[3] = f"moves by {array(forward.tangents[i], 6)}"
        texts = [truncated(text, 40) for text in texts]
        longest = max(8, *map(len, texts))
        lines = 2 + (reverse is not None) + (forward is not None)
        nodes[i] = Node(
            i,
            names[i],
            *texts,
            kind="output" if i in program.outputs else program.values[i].kind,
            active=i in program.active,
            layer=layers[i],
            width=longest * LETTER_WIDTH + 18,
            height=lines * LINE_HEIGHT + 10,
        )
    edges = dict.fromkeys(
        (i, o)
        for step in program.steps
        for o, i in product(step.outputs, step.inputs)
        if i in nodes and o in nodes
    )
    return _with_coordinates(nodes, tuple(edges))


def _layers(program: Program, drawn: set[int]) -> dict[int, int]:
    """The layer of each value: a step below its inputs, an argument above its first use."""
    layers: dict[int, int] = {}
    for step in program.steps:
        depth = 1 + max((layers.get(i, 0) for i in step.inputs), default=0)
        layers |= dict.fromkeys(step.outputs, depth)
    for step in reversed(program.steps):
        above = min(layers[o] for o in step.outputs) - 1
        for i in step.inputs:
            if i in drawn and program.values[i].kind != STEP:
                layers[i] = min(layers.get(i, above), above)
    return {i: layers.get(i, 0) for i in drawn}


def _with_coordinates(
    nodes: dict[int, Node], edges: tuple[tuple[int, int], ...]
) -> Graph:
    """Place the boxes near their neighbours, without overlap."""
    near: dict[int, list[int]] = {i: [] for i in nodes}
    for i, o in edges:
        near[i].append(o)
        near[o].append(i)
    rows: dict[int, list[Node]] = {}
    for node in nodes.values():
        rows.setdefault(node.layer, []).append(node)
    for _ in range(8):
        for depth in sorted(rows):
            _arrange_row(rows[depth], nodes, near)
    left = min((n.x - n.width / 2 for n in nodes.values()), default=0)
    y = 0.0
    for depth in sorted(rows):
        height = max(node.height for node in rows[depth])
        for node in rows[depth]:
            node.x += 12 - left
            node.y = y + height / 2 + 12
        y += height + ROW_GAP
    width = max((n.x + n.width / 2 for n in nodes.values()), default=0) + 12
    return Graph(nodes, edges, width, y - ROW_GAP + 24)


def _arrange_row(
    row: list[Node], nodes: dict[int, Node], near: dict[int, list[int]]
) -> None:
    """Order a row by the positions of its neighbours and separate overlapping boxes."""
    target = {}
    for node in row:
        others = [nodes[k].x for k in near[node.value]]
        target[node.value] = sum(others) / len(others) if others else node.x
    row.sort(key=lambda node: (target[node.value], node.value))
    edge = -float("inf")
    for node in row:
        node.x = max(target[node.value], edge + node.width / 2)
        edge = node.x + node.width / 2 + BOX_GAP
    middle = sum(node.x - target[node.value] for node in row) / len(row)
    for node in row:
        node.x -= middle
