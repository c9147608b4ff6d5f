r"""Where the rows of a map begin: principal components, or eigenvectors of a graph.

Maps that are found by many small steps amplify the last digit of where they begin. Sums by BLAS may
differ in it with the number of threads, so products are summed in a fixed order here, and what
is found is rounded.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_matrix, diags_array
from scipy.sparse.csgraph import connected_components

DIGITS = 5
"""How many decimals of the largest coordinate are kept."""
SPARE_VECTORS = 4
FILTER_DEGREE, FILTER_ROUNDS = 20, 8
MIN_SPECTRAL_ROWS = 12
"""Components of fewer rows are placed at random."""


def principal_start(
    X: Float[np.ndarray, "n d"], q: int, rng: np.random.Generator
) -> Float[np.ndarray, "n q"]:
    """(n, q) principal components, the largest coordinate 1; little noise where there are none.

    Args:
        X: rows.
        q: how many dimensions.
        rng: random numbers for dimensions that rows do not have.
    """
    size = np.abs(X - X.mean(0)).max(initial=0.0)
    C = (X - X.mean(0)) / (size if size > 0 else 1.0)
    n, d = C.shape
    if d <= n:
        values, V = np.linalg.eigh(C.T @ C)
        Y = C @ V[:, ::-1][:, :q]
    else:
        values, V = np.linalg.eigh(C @ C.T)
        Y = V[:, ::-1][:, :q] * np.sqrt(np.maximum(values[::-1][:q], 0.0))
    signs = np.sign(Y[np.abs(Y).argmax(axis=0), np.arange(Y.shape[1])])
    Y = unit(np.where(signs == 0, 1.0, signs) * Y)
    if Y.shape[1] < q:
        Y = np.c_[Y, 0.01 * rng.normal(size=(n, q - Y.shape[1]))]
    return Y


def unit(Y: np.ndarray) -> np.ndarray:
    """Places with the largest coordinate 1, rounded."""
    size = np.abs(Y).max(initial=0.0)
    return np.round(Y / (size if size > 0 else 1.0), DIGITS)


def spectral_start(
    graph: csr_matrix, X: Float[np.ndarray, "n d"], q: int, rng: np.random.Generator
) -> Float[np.ndarray, "n q"]:
    """(n, q) eigenvectors of a graph; each of its components at a place of its own.

    Args:
        graph: symmetric weights.
        X: rows, by whose means the components are placed.
        q: how many dimensions.
        rng: random numbers.
    """
    count, component = connected_components(graph, directed=False)
    if count == 1:
        return _eigenvectors(graph, q, rng)
    means = np.stack([X[component == c].mean(0) for c in range(count)])
    centers = principal_start(means, q, rng) + 0.05 * rng.normal(size=(count, q))
    gaps = np.abs(centers[:, None] - centers).max(2) + 2 * np.eye(count)
    Y = np.empty((len(X), q))
    for c in range(count):
        own = np.flatnonzero(component == c)
        part = _eigenvectors(graph[own][:, own], q, rng)
        Y[own] = centers[c] + 0.4 * gaps[c].min() * part
    return unit(Y)


def _eigenvectors(graph: Any, q: int, rng: np.random.Generator) -> np.ndarray:
    """(n, q) the eigenvectors of largest eigenvalue of D^{−1/2} W D^{−1/2}, but the first.

    Subspace iteration with Chebyshev polynomials, which are small where the eigenvalues that
    are not wanted lie.
    """
    n = graph.shape[0]
    if n < max(MIN_SPECTRAL_ROWS, q + SPARE_VECTORS + 2):
        return rng.uniform(-1, 1, size=(n, q))
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    scale = diags_array(1 / root)
    A = (scale @ graph @ scale).tocsr()
    first = (root / np.sqrt((root**2).sum()))[:, None]
    V, cut = _orthonormal(rng.normal(size=(n, q + SPARE_VECTORS)), first), 0.5
    for _ in range(FILTER_ROUNDS):
        middle, half = 0.5 * (cut - 1), 0.5 * (cut + 1)
        old, new = V, (A @ V - middle * V) / half
        for _ in range(FILTER_DEGREE - 1):
            old, new = new, 2 / half * (A @ new - middle * new) - old
        V = _orthonormal(new, first)
        values, U = np.linalg.eigh(_products(V, A @ V))
        V = np.einsum("ni,ij->nj", V, U[:, ::-1])
        cut = float(np.clip(values[0], -0.5, 0.999))
    Y = V[:, :q] / root[:, None]
    signs = np.sign(Y[np.abs(Y).argmax(axis=0), np.arange(q)])
    return unit(Y / np.abs(Y).max(axis=0) * signs)


def _products(V: np.ndarray, W: np.ndarray) -> np.ndarray:
    """VᵀW, summed in the same order whatever the number of threads."""
    return np.einsum("ni,nj->ij", V, W)


def _orthonormal(V: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Columns of the same span as V, orthonormal and orthogonal to the first vector."""
    for _ in range(2):  # the second time repairs what rounding left
        V = V - np.einsum("ni,ij->nj", first, _products(first, V))
        V = V / np.sqrt((V**2).sum(0))
        values, U = np.linalg.eigh(_products(V, V))
        V = np.einsum("ni,ij->nj", V, U / np.sqrt(np.maximum(values, 1e-14)))
    return V
