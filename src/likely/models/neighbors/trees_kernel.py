"""Random projection trees, compiled by numba: near rows end in the same leaf.

A node is split by two of its rows, chosen at random: each row goes to the side of the one that
is nearer. A tree keeps the numbers of these two rows, not the plane between them.
"""

from typing import no_type_check

import numpy as np
from numba import float32, int32, int64, njit, uint64

from likely.core.compiled import OPTIONS, const, kernel
from likely.models.neighbors.exact_kernel import FAST, squared_distance

U = np.uint64
fast = njit(**OPTIONS, **FAST)


@fast
@no_type_check
def hashed(a, b):
    """64 random bits that are a function of two numbers (splitmix64)."""
    z = U(a) * U(0x9E3779B97F4A7C15) + U(b) + U(0x632BE59BD9B4E019)
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@fast
@no_type_check
def below(bits, n):
    """A whole number below n from random bits."""
    return np.int64((bits >> U(32)) * U(n) >> U(32))


@fast
@no_type_check
def side(X, x, pivots, bits):
    """Whether a row is nearer to the second pivot; by chance where both are as near."""
    a, b = squared_distance(x, X[pivots[0]]), squared_distance(x, X[pivots[1]])
    return np.int64(bits >> U(63)) if a == b else np.int64(b < a)


@fast
@no_type_check
def divide(X, rows, pivots, seed):
    """Reorder rows by their sides; how many are on the first one."""
    low, high = 0, len(rows)
    while low < high:
        if side(X, X[rows[low]], pivots, hashed(seed, rows[low])):
            high -= 1
            rows[low], rows[high] = rows[high], rows[low]
        else:
            low += 1
    return low


@kernel(
    int64(
        const(float32, 2), uint64, int64,
        int32[::1], int32[:, ::1], int32[:, ::1], int32[::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def grow(X, seed, leaf_size, order, nodes, spans, leaf_of):  # noqa: PLR0917
    """Grow a tree; how many nodes it has.

    Args:
        X: (n, d) rows.
        seed: of the random numbers.
        leaf_size: the largest number of rows of a leaf.
        order: (n,) rows are stored here, those of a leaf side by side.
        nodes: (2n, 3) first child (the second follows it; −1 for a leaf) and pivots.
        spans: (2n, 2) where in `order` the rows of each node begin and end.
        leaf_of: (n,) the leaf of each row.
    """
    order[:] = np.arange(len(X))
    spans[0, 0], spans[0, 1] = 0, len(X)
    count, node = 1, 0
    while node < count:
        start, stop = spans[node, 0], spans[node, 1]
        rows, n = order[start:stop], stop - start
        nodes[node, 0] = -1
        if n <= leaf_size:
            leaf_of[rows] = node
        else:
            bits = hashed(seed, node)
            first, second = below(bits, n), below(hashed(bits, 1), n - 1)
            pivots = nodes[node, 1:]
            pivots[0], pivots[1] = rows[first], rows[second + (second >= first)]
            half = divide(X, rows, pivots, bits)
            if min(half, n - half) * 20 < n:  # far rows, or the same: split by order
                half = n // 2
            nodes[node, 0] = count
            spans[count, 0], spans[count, 1] = start, start + half
            spans[count + 1, 0], spans[count + 1, 1] = start + half, stop
            count += 2
        node += 1
    return count


@fast
@no_type_check
def find_leaf(X, x, nodes):
    """The leaf that a new row belongs to."""
    node = 0
    while nodes[node, 0] >= 0:
        node = nodes[node, 0] + side(X, x, nodes[node, 1:], U(0))
    return node
