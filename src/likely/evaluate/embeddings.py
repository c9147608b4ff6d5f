r"""How well a map keeps the neighbours of rows.

All are functions of two arrays, rows and their places, whatever made the places. A pair of rows
that is near on the map and far before is a false neighbour (`trustworthiness`); one that was near
and no longer is, a lost one (`continuity`).
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from likely.core.checks import InputError
from likely.models.neighbors import neighbors

BLOCK_NUMBERS = 8_000_000
"""How many distances are computed at once."""


def trustworthiness(X: Any, embedding: Any, n_neighbors: int = 5) -> float:
    r"""One minus the penalty for rows that are neighbours on the map only.

    $$1 - \frac{2}{nk(2n - 3k - 1)} \sum_i \sum_{j \in N_k(i)} \max(0, r(i, j) - k)$$

    with $N_k$ the k nearest on the map and r the rank of a row by its distance before.

    Args:
        X: (n, d) rows.
        embedding: (n, q) their places.
        n_neighbors: k, below n/2.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(40, 5))
        >>> round(float(lk.evaluate.trustworthiness(X, X[:, :4])), 2)
        0.88
    """
    X, Y = _pair(X, embedding)
    n, k = len(X), int(n_neighbors)
    if not 1 <= k < n / 2:
        raise InputError(
            f"n_neighbors is {n_neighbors} for {n} rows; give at least 1 and less than half."
        )
    _, near = neighbors(Y, k)
    C = X - X.mean(0)
    squares, penalty = (C**2).sum(1), 0
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        own = np.arange(start, min(n, start + size))
        D = squares - 2 * (C[own] @ C.T)  # and a constant of the row
        D[np.arange(len(own)), own] = -np.inf
        for j in near[own].T:
            rank = (D[np.arange(len(own)), j][:, None] > D).sum(axis=1)
            penalty += int(np.maximum(rank - k, 0).sum())
    return 1.0 - 2.0 * penalty / (n * k * (2.0 * n - 3.0 * k - 1.0))


def continuity(X: Any, embedding: Any, n_neighbors: int = 5) -> float:
    """One minus the penalty for neighbours that are far on the map.

    It is the trustworthiness of the rows as a map of their places.

    Args:
        X: (n, d) rows.
        embedding: (n, q) their places.
        n_neighbors: k, below n/2.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(40, 5))
        >>> round(float(lk.evaluate.continuity(X, X)), 2)
        1.0
    """
    X, Y = _pair(X, embedding)
    return trustworthiness(Y, X, n_neighbors)


def neighborhood_hit(embedding: Any, labels: Any, n_neighbors: int = 5) -> float:
    """The share of the k nearest on the map that have the label of the row, in the mean.

    Args:
        embedding: (n, q) places.
        labels: (n,) of any kind.
        n_neighbors: k, below n.

    Examples:
        >>> places = np.r_[np.zeros((6, 2)), np.ones((6, 2))] + 0.01 * np.arange(12)[:, None]
        >>> float(lk.evaluate.neighborhood_hit(places, np.repeat([0, 1], 6)))
        1.0
    """
    Y, labels = np.asarray(embedding, np.float64), np.asarray(labels)
    if labels.shape != (len(Y),):
        raise InputError(f"there are {labels.shape} labels for {len(Y)} places.")
    _, near = neighbors(Y, int(n_neighbors))
    return float((labels[near] == labels[:, None]).mean())


def connectedness(X: Any, embedding: Any, n_neighbors: int = 15) -> float:
    """The share of rows that the map leaves connected with most of those they were.

    The graphs connect each row with its k nearest, before and on the map. Of each component
    of the first graph, the largest part that is connected in the second is counted. It is 1
    if what was connected stays connected.

    Args:
        X: (n, d) rows.
        embedding: (n, q) their places.
        n_neighbors: k, below n.
    """
    X, Y = _pair(X, embedding)
    before, after = (_components(rows, int(n_neighbors)) for rows in (X, Y))
    kept = 0
    for c in range(before.max() + 1):
        kept += int(np.bincount(after[before == c]).max())
    return kept / len(X)


def _components(rows: Float[np.ndarray, "n d"], k: int) -> np.ndarray:
    """(n,) the component of each row in the graph of k neighbours."""
    n = len(rows)
    _, found = neighbors(rows, k)
    heads = np.repeat(np.arange(n), k)
    graph = coo_matrix((np.ones(n * k), (heads, found.ravel())), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def _pair(X: Any, embedding: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of numbers with as many rows."""
    X, Y = (np.asarray(rows, np.float64) for rows in (X, embedding))
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise InputError(
            f"rows have shape {X.shape} and places {Y.shape}; give a row of each."
        )
    for name, rows in (("X", X), ("embedding", Y)):
        if not np.isfinite(rows).all():
            raise InputError(f"{name} contains NaN or infinity; leave such rows out.")
    return X, Y
