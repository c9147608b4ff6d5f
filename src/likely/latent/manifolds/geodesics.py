"""Distances along a graph of neighbours, which is joined where it falls apart."""

import warnings

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist

MAX_JOINED_ROWS = 5000
"""Rows of a component among which the shortest edge to another one is looked for."""
BLOCK_NUMBERS = 2**22
"""Distances that are computed at once."""


def neighbor_graph(
    D: Float[np.ndarray, "n k"], found: Int[np.ndarray, "n k"]
) -> csr_matrix:
    """(n, n) the distances of neighbours; those of copies are tiny, not absent."""
    n, k = D.shape
    heads = np.repeat(np.arange(n), k)
    tiny = 1e-12 * D.max(initial=0.0) or 1e-300
    data = np.maximum(D, tiny).ravel()
    return csr_matrix((data, (heads, found.ravel())), shape=(n, n))


def joined(graph: csr_matrix, X: Float[np.ndarray, "n d"]) -> csr_matrix:
    """The graph with the shortest edge between each two of its components; warns of it.

    Of components with more than 5,000 rows, the edges of 5,000 evenly spaced rows are compared.

    Args:
        graph: distances of neighbours.
        X: rows whose Euclidean distances are the lengths of edges.
    """
    count, component = connected_components(graph, directed=False)
    if count == 1:
        return graph
    warnings.warn(
        f"the graph of neighbours has {count} components; they are joined by the shortest "
        "edges between them. Ask for more neighbours to let the rows decide.",
        stacklevel=4,
    )
    parts = [_some(np.flatnonzero(component == c)) for c in range(count)]
    order = np.concatenate(parts)
    firsts = np.cumsum([0, *map(len, parts)])
    edges = []
    for c, own in enumerate(parts[:-1]):
        rest = order[firsts[c + 1] :]
        nearest, lengths = _nearest(X[own], X[rest])
        starts = firsts[c + 1 : -1] - firsts[c + 1]
        stops = firsts[c + 2 :] - firsts[c + 1]
        for start, stop in zip(starts, stops, strict=True):
            j = start + int(lengths[start:stop].argmin())
            edges.append((own[nearest[j]], rest[j], lengths[j]))
    heads, tails, lengths = np.array(edges).T
    more = coo_matrix((lengths, (heads.astype(int), tails.astype(int))), graph.shape)
    return (graph + more).tocsr()


def _some(rows: Int[np.ndarray, " m"]) -> Int[np.ndarray, " r"]:
    """Rows of a component that edges to others may begin at: all, or evenly spaced ones."""
    if len(rows) <= MAX_JOINED_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MAX_JOINED_ROWS).astype(int)]


def _nearest(
    A: Float[np.ndarray, "m d"], B: Float[np.ndarray, "r d"]
) -> tuple[Int[np.ndarray, " r"], Float[np.ndarray, " r"]]:
    """Which row of A is nearest to each row of B, and its distance."""
    nearest, lengths = np.empty(len(B), int), np.empty(len(B))
    size = max(1, BLOCK_NUMBERS // len(A))
    for start in range(0, len(B), size):
        D = cdist(B[start : start + size], A)
        nearest[start : start + size] = D.argmin(axis=1)
        lengths[start : start + size] = D.min(axis=1)
    return nearest, lengths


def geodesics(
    graph: csr_matrix, starts: Int[np.ndarray, " m"]
) -> Float[np.ndarray, "m n"]:
    """The lengths of the shortest paths from some rows to all."""
    return shortest_path(graph, method="D", directed=False, indices=starts)


def components(graph: csr_matrix) -> int:
    """How many parts of a graph are not connected with each other."""
    return int(connected_components(graph, directed=False)[0])
