"""A tall computation graph in columns side by side, so that a window shows more of it."""

from dataclasses import replace

from likely.autodiff.page.layout import BOX_GAP, Graph

ASPECT = 0.85
"""The width of the part of the page that shows the graph, in heights."""
MARGIN = 12.0


def in_columns(drawing: Graph) -> Graph:
    """The graph in as many columns as give it the shape of the page, each read downwards."""
    count = round((ASPECT * drawing.height / max(drawing.width, 1.0)) ** 0.5)
    if count < 2:
        return drawing
    columns: list[list] = [[] for _ in range(count)]
    for node in sorted(drawing.nodes.values(), key=lambda node: node.y):
        columns[min(int(count * node.y / drawing.height), count - 1)].append(node)
    nodes, left, bottom = {}, MARGIN, 0.0
    for column in filter(None, columns):
        across = min(node.x - node.width / 2 for node in column) - left
        down = min(node.y - node.height / 2 for node in column) - MARGIN
        moved = [replace(n, x=n.x - across, y=n.y - down) for n in column]
        nodes |= {node.value: node for node in moved}
        left = max(node.x + node.width / 2 for node in moved) + 2 * BOX_GAP
        bottom = max(bottom, *(node.y + node.height / 2 for node in moved))
    nodes = {i: nodes[i] for i in drawing.nodes}
    return Graph(nodes, drawing.edges, left - 2 * BOX_GAP + MARGIN, bottom + MARGIN)
