"""Distances along a graph of neighbours, which is joined where it falls apart."""

import warnings

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist


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
    order = np.argsort(component, kind="stable")
    firsts = np.searchsorted(component[order], np.arange(count))
    edges = []
    for c in range(count):
        own = order[component[order] == c]
        D = cdist(X[own], X[order])
        nearest = D.argmin(axis=0)
        lengths = D.min(axis=0)
        for other in range(c + 1, count):
            stop = firsts[other + 1] if other + 1 < count else len(X)
            j = firsts[other] + int(lengths[firsts[other] : stop].argmin())
            edges.append((own[nearest[j]], order[j], lengths[j]))
    heads, tails, lengths = np.array(edges).T
    more = coo_matrix((lengths, (heads.astype(int), tails.astype(int))), graph.shape)
    return (graph + more).tocsr()


def geodesics(
    graph: csr_matrix, starts: Int[np.ndarray, " m"]
) -> Float[np.ndarray, "m n"]:
    """The lengths of the shortest paths from some rows to all."""
    return shortest_path(graph, method="D", directed=False, indices=starts)


def components(graph: csr_matrix) -> int:
    """How many parts of a graph are not connected with each other."""
    return int(connected_components(graph, directed=False)[0])
