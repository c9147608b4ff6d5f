"""The nearest of many rows, compiled by numba: a heap for each query."""

from typing import Any, no_type_check

import numpy as np
from numba import boolean, float32, float64, int64, njit, void

from likely.core.compiled import OPTIONS, const, kernel

FAST: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
"""Sums may be computed in any order, so that they are vectorised."""
fast = njit(**OPTIONS, **FAST)


@fast
@no_type_check
def squared_distance(x, z):
    """Σ (x − z)²."""
    total = x[0] - x[0]
    for j in range(len(x)):
        total += (x[j] - z[j]) * (x[j] - z[j])
    return total


@fast
@no_type_check
def replace_top(values, names, value, name):
    """Put an entry in the place of the largest one of a heap; ties go by the name."""
    size, place = len(values), 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            values[other] > values[child]
            or (values[other] == values[child] and names[other] > names[child])
        ):
            child = other
        if values[child] < value or (values[child] == value and names[child] < name):
            break
        values[place], names[place] = values[child], names[child]
        place = child
    values[place], names[place] = value, name


@fast
@no_type_check
def sort_heap(values, names):
    """Sort the entries of a heap, the smallest first."""
    for size in range(len(values) - 1, 0, -1):
        value, name = values[size], names[size]
        values[size], names[size] = values[0], names[0]
        replace_top(values[:size], names[:size], value, name)


@kernel(
    void(
        const(float64, 2), const(float64, 2), const(int64, 1), const(int64, 1),
        float64[:, ::1], int64[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def scan(X, Q, which, own, D, found):  # noqa: PLR0917
    """Store the nearest rows of some queries and their squared distances, pair by pair.

    Args:
        X: (n, d) rows.
        Q: (m, d) queries.
        which: the numbers of the queries to answer.
        own: (m,) a row that each query may not find, or −1.
        D: (m, k) squared distances are stored here, the smallest first.
        found: (m, k) the numbers of rows; ties in the order of the rows.
    """
    for i in which:
        values, names = D[i], found[i]
        values[:], names[:] = np.inf, len(X)
        for j in range(len(X)):
            if j != own[i]:
                value = squared_distance(Q[i], X[j])
                if value < values[0]:
                    replace_top(values, names, value, j)
        sort_heap(values, names)


@kernel(
    void(
        const(float32, 2), const(float64, 2), const(float64, 2), const(float32, 1),
        const(int64, 1), int64, int64, float64, float64[:, ::1], int64[:, ::1],
        boolean[::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def pick(G, X, Q, squares, own, first, spare, error, D, found, certain):  # noqa: PLR0917
    """Store the nearest rows of some queries, chosen by rounded products.

    The k + spare rows that are nearest by rounded numbers are measured exactly. The k
    nearest of them are certainly the nearest of all where they are nearer than all others
    can be, whatever was rounded.

    Args:
        G: (b, n) products of queries and rows, rounded.
        X: (n, d) rows.
        Q: (m, d) queries; G is about those from `first` on.
        squares: (n,) |x|², rounded.
        own: (m,) a row that each query may not find, or −1.
        first: the number of the first query.
        spare: how many rows more than k are measured.
        error: of rounded squared distances, as a part of |x|² + |q|².
        D: (m, k) squared distances are stored here, the smallest first.
        found: (m, k) the numbers of rows.
        certain: (m,) whether they are certainly the nearest.
    """
    k = D.shape[1]
    values, names = np.empty(k + spare, np.float32), np.empty(k + spare, np.int64)
    largest = np.float64(squares.max())
    for b in range(len(G)):
        i = first + b
        values[:], names[:] = np.inf, len(X)
        for j in range(len(X)):
            value = squares[j] - np.float32(2) * G[b, j]
            if value < values[0] and j != own[i]:
                replace_top(values, names, value, j)
        q = Q[i]
        size = np.float64(0)
        for j in range(len(q)):
            size += q[j] * q[j]
        others = np.float64(values[0]) + size
        D[i], found[i] = np.inf, len(X)
        for c in range(k + spare):
            if names[c] < len(X):
                value, name = squared_distance(q, X[names[c]]), names[c]
                if value < D[i, 0] or (value == D[i, 0] and name < found[i, 0]):
                    replace_top(D[i], found[i], value, name)
        certain[i] = D[i, 0] < others - error * (largest + size)
        sort_heap(D[i], found[i])
