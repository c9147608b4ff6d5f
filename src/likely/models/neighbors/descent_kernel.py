"""Neighbour descent, compiled by numba: neighbours of neighbours are likely neighbours.

Each row looks for its own neighbours and writes to nothing else, so that the bits do not depend on
how rows are shared among threads.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float32, int32, int64, njit, uint64, void

from likely.core.compiled import OPTIONS, const, kernel
from likely.models.neighbors.exact_kernel import (
    FAST,
    replace_top,
    sort_heap,
    squared_distance,
)
from likely.models.neighbors.trees_kernel import find_leaf, hashed

U = np.uint64
fast = njit(**OPTIONS, **FAST)


@fast
@no_type_check
def offer(x, X, j, seen, stamp, values, names):  # noqa: PLR0917
    """Put a row into a heap if it is new and near; whether it was put."""
    if seen[j] == stamp:
        return 0
    seen[j] = stamp
    value = squared_distance(x, X[j])
    if value >= values[0]:
        return 0
    replace_top(values, names, value, j)
    return 1


@kernel(
    void(
        const(float32, 2), int64, int64, const(int32, 2), const(int32, 3),
        const(int32, 2), float32[:, ::1], int32[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def from_leaves(X, first, last, orders, spans, leaf_of, D, found):  # noqa: PLR0917
    """Fill the heaps of the rows from `first` to `last` with rows of the same leaves."""
    seen = np.full(len(X), -1, np.int32)
    for i in range(first, last):
        D[i], found[i] = np.inf, -1
        seen[i] = i
        for t in range(len(orders)):
            leaf = leaf_of[t, i]
            for place in range(spans[t, leaf, 0], spans[t, leaf, 1]):
                offer(X[i], X, orders[t, place], seen, i, D[i], found[i])
        j = 0  # few rows in the leaves: fill up
        while found[i, 0] < 0:
            offer(X[i], X, j, seen, i, D[i], found[i])
            j += 1


@fast
@no_type_check
def propose(ranks, names, rank, name):
    """Keep a name among those of smallest rank, once."""
    if rank < ranks[0]:
        for other in names:
            if other == name:
                return
        replace_top(ranks, names, rank, name)


@kernel(
    void(
        const(int32, 2), boolean[:, ::1], uint64, int64, int32[:, :, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def candidates(found, fresh, seed, size, lists):
    """Draw for each row some of its neighbours and of the rows whose neighbour it is.

    Args:
        found: (n, k) the neighbours.
        fresh: (n, k) which of them are new; those that are drawn no longer are.
        seed: of the random numbers.
        size: how many.
        lists: (2, n, size) the new ones are stored here, then the others; −1 for none.
    """
    n, k = found.shape
    ranks = np.full((2, n, size), np.inf, np.float32)
    lists[:] = -1
    for i in range(n):
        for c in range(k):
            j, kind = found[i, c], 1 - np.int64(fresh[i, c])
            bits = hashed(seed, U(min(i, j)) * U(n) + U(max(i, j)))
            rank = np.float32(bits >> U(40))
            propose(ranks[kind, i], lists[kind, i], rank, j)
            propose(ranks[kind, j], lists[kind, j], rank, i)
    for i in range(n):
        for c in range(k):
            if fresh[i, c]:
                for name in lists[0, i]:
                    if name == found[i, c]:
                        fresh[i, c] = False


@kernel(
    int64(
        const(float32, 2), int64, int64, const(int32, 3),
        float32[:, ::1], int32[:, ::1], boolean[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def improve(X, first, last, lists, D, found, fresh):  # noqa: C901, PLR0917
    """Offer neighbours of neighbours to the rows from `first` to `last`; how many fit."""
    seen, total = np.full(len(X), -1, np.int32), 0
    k = found.shape[1]
    before = np.empty(k, np.int32)
    was_fresh = np.empty(k, np.bool_)
    for i in range(first, last):
        x, values, names, changed = X[i], D[i], found[i], 0
        seen[i] = i
        for c in range(k):
            before[c], was_fresh[c] = names[c], fresh[i, c]
            seen[names[c]] = i
        for kind in range(2):
            for u in lists[kind, i]:
                if u >= 0:
                    changed += offer(x, X, u, seen, i, values, names)
                    for other in range(2 - kind):  # old ones of old ones were looked at
                        for q in lists[other, u]:
                            if q >= 0:
                                changed += offer(x, X, q, seen, i, values, names)
        if changed:
            total += changed
            for c in range(k):
                fresh[i, c] = True
                for old in range(k):
                    if before[old] == names[c]:
                        fresh[i, c] = was_fresh[old]
    return total


@kernel(
    void(
        const(float32, 2), const(float32, 2), int64, int64, const(int32, 2),
        const(int32, 3), const(int32, 3), const(int32, 1), const(int32, 1), int64,
        int32[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def search(X, Q, first, last, orders, nodes, spans, starts, links, width, found):  # noqa: PLR0917
    """Walk along a graph towards each query from the leaves that it belongs to.

    Args:
        X: (n, d) rows.
        Q: (m, d) queries, of which those from `first` to `last` are answered.
        first: the first of them.
        last: the end of them.
        orders: (t, n) the rows in the order of each tree.
        nodes: (t, a, 3) its nodes.
        spans: (t, a, 2) where in `orders` the rows of each node begin and end.
        starts: (n + 1,) where in `links` those of each row begin.
        links: the neighbours of rows.
        width: how many of the nearest rows so far are followed.
        found: (m, k) the rows are stored here, the nearest first.
    """
    seen = np.full(len(X), -1, np.int32)
    values, names = np.empty(width, np.float32), np.empty(width, np.int32)
    followed = np.zeros(len(X), np.int32)
    for i in range(first, last):
        values[:], names[:] = np.inf, -1
        for t in range(len(orders)):
            leaf = find_leaf(X, Q[i], nodes[t])
            for place in range(spans[t, leaf, 0], spans[t, leaf, 1]):
                offer(Q[i], X, orders[t, place], seen, i, values, names)
        while True:
            best, row = np.float32(np.inf), np.int32(-1)
            for c in range(width):
                if names[c] >= 0 and followed[names[c]] != i + 1 and values[c] < best:
                    best, row = values[c], names[c]
            if row < 0:
                break
            followed[row] = i + 1
            for place in range(starts[row], starts[row + 1]):
                offer(Q[i], X, links[place], seen, i, values, names)
        sort_heap(values, names)
        found[i] = names[: found.shape[1]]
