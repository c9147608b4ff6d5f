"""A computation graph as SVG."""

import html

from likely.autodiff.page.layout import Graph, Node


def svg(drawing: Graph) -> str:
    """The SVG text; boxes have the id `n7` and edges `e3-7`, by the numbers of values."""
    size = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    lines = [_edge(drawing.nodes[a], drawing.nodes[b]) for a, b in drawing.edges]
    boxes = [_box(node) for node in drawing.nodes.values()]
    return (
        f'<svg viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" height="{size[1]}" '
        f'role="img" aria-label="computation graph">{"".join(lines)}{"".join(boxes)}</svg>'
    )


def _edge(a: Node, b: Node) -> str:
    y0, y1 = a.y + a.height / 2, b.y - b.height / 2
    pull = max((y1 - y0) / 2, 14)
    path = f"M{a.x:.0f} {y0:.0f}C{a.x:.0f} {y0 + pull:.0f} {b.x:.0f} {y1 - pull:.0f} "
    return f'<path id="e{a.value}-{b.value}" d="{path}{b.x:.0f} {y1:.0f}"/>'


def _box(node: Node) -> str:
    left, top = node.x - node.width / 2, node.y - node.height / 2
    texts = [("name", node.label), ("result", node.result)]
    if node.adjoint:
        texts.append(("adjoint", node.adjoint))
    lines = "".join(
        f'<text class="{kind}" x="{node.x:.0f}" y="{top + 19 + 17 * k:.0f}">'
        f"{html.escape(text)}</text>"
        for k, (kind, text) in enumerate(texts)
    )
    classes = f"node {node.kind}{'' if node.active else ' idle'}"
    return (
        f'<g id="n{node.value}" class="{classes}"><rect x="{left:.0f}" y="{top:.0f}" '
        f'width="{node.width:.0f}" height="{node.height:.0f}" rx="6"/>{lines}</g>'
    )
