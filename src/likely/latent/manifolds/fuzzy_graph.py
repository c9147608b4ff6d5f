r"""The fuzzy graph of neighbours of UMAP: how surely two rows belong together.

A row i is surely beside its nearest neighbour, at the distance ρ, and less surely beside others,
$μ_{j|i} = e^{-\max(0, d_{ij} - ρ_i)/σ_i}$, with σ such that $\sum_j μ_{j|i} = \log_2 k$. Two rows
are connected if one says so or the other: $μ_{ij} = μ_{j|i} + μ_{i|j} - μ_{j|i} μ_{i|j}$.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix, csr_matrix

LABEL_CONTRAST = 5.0
"""−log of the part that is left of an edge between two labels, at the target weight 0.5."""


def fuzzy_graph(
    D: Float[np.ndarray, "n k"], found: Int[np.ndarray, "n k"]
) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    """The symmetric graph, and of each row the distance ρ and the width σ.

    Args:
        D: distances of the neighbours of each row, without itself.
        found: which rows they are.
    """
    mu, rho, sigma = directed_memberships(D)
    n, k = D.shape
    heads = np.repeat(np.arange(n), k)
    directed = coo_matrix((mu.ravel(), (heads, found.ravel())), shape=(n, n)).tocsr()
    return fuzzy_union(directed), rho, sigma


def directed_memberships(
    D: Float[np.ndarray, "n k"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, k) how surely each neighbour belongs to a row, and (n,) ρ and σ."""
    from likely.latent.manifolds.umap_kernel import memberships  # it loads numba

    rho, sigma, mu = np.empty(len(D)), np.empty(len(D)), np.empty(D.shape)
    memberships(np.ascontiguousarray(D), float(D.mean()), rho, sigma, mu)
    return mu, rho, sigma


def fuzzy_union(directed: Any) -> Any:
    """One or the other: a + b − ab for the two directions of each edge."""
    other = directed.T.tocsr()
    graph = (directed + other - directed.multiply(other)).tocsr()
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def with_target(
    graph: csr_matrix, y: np.ndarray, weight: float, *, numeric: bool
) -> csr_matrix:
    r"""Make edges between rows with different targets weaker.

    An edge is multiplied by $e^{-c\,t/(1-t)}$ with the target weight t and c = 5 between two
    different labels, or 5 times the difference of two numbers as a part of the mean
    difference. A label of −1 is unknown, and half as different from any other. Then the
    strongest edge of each row is 1 again.

    Args:
        graph: symmetric.
        y: (n,) labels as whole numbers, or numbers.
        weight: t, from 0 (targets do not matter) to below 1.
        numeric: whether targets are numbers.
    """
    edges = graph.tocoo()
    a, b = y[edges.row], y[edges.col]
    if numeric:
        spread = np.abs(y - np.median(y)).mean()
        contrast = np.abs(a - b) / (spread if spread > 0 else 1.0)
    else:
        contrast = np.where((a == -1) | (b == -1), 0.5, (a != b).astype(float))
    kept = np.exp(-LABEL_CONTRAST * contrast * weight / (1 - weight))
    made = csr_matrix((edges.data * kept, (edges.row, edges.col)), shape=graph.shape)
    strongest = made.max(axis=1).toarray().ravel()
    scale = np.repeat(np.where(strongest > 0, strongest, 1.0), np.diff(made.indptr))
    made.data = made.data / scale
    return fuzzy_union(made)
