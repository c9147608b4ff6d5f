"""Kernels of predictions: numbers to codes, codes to leaves, leaves to sums.

A node is one word, [left: 32 | feature: 16 | low: 8 | width: 8]. The two children are next
to each other, and `left` counts from the root of the tree. A row goes left where
`(code - low) mod 256 <= width`: with low = 0 missing values (code 0) go left too, with
low = 1 they wrap around to 255 and go right. low = 2 marks a set of categories. A leaf
leads to itself, so that several rows can descend together until none of them moves.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int32, int64, uint8, uint64, void

from likely.core.compiled import const, inner, kernel

U = np.uint64
BLOCK_ROWS = 2048
TABLE = const(float64, 2)


@inner
@no_type_check
def code_of(x, cuts, categorical):
    """The code of one number, by binary search: 1 plus the number of cuts below it."""
    if np.isnan(x):
        return np.uint8(0)
    at, step = U(0), U(128)
    while step:
        at += step * U(cuts[at + step - U(1)] < x)
        step >>= U(1)
    if categorical and not (at < U(255) and cuts[at] == x):
        return np.uint8(0)
    return np.uint8(at + U(1)) if at < U(255) else np.uint8(255)


@kernel(void(TABLE, TABLE, const(boolean, 1), uint8[:, :, ::1], int64, int64))
@no_type_check
def encode_blocks(X, cuts, categorical, codes, start, stop):  # noqa: PLR0917
    """Store the codes of a range of rows, four features to a block."""
    for begin in range(start, stop, BLOCK_ROWS):
        for j in range(X.shape[1]):
            own, block, byte = cuts[j], j >> 2, j & 3
            for i in range(begin, min(begin + BLOCK_ROWS, stop)):
                codes[block, i, byte] = code_of(X[i, j], own, categorical[j])


@inner
@no_type_check
def goes_right(node, at, set_at, sets, code):
    """Whether a row with this code goes right at a node."""
    low = (node >> U(8)) & U(0xFF)
    if low < U(2):
        return ((U(code) - low) & U(0xFF)) > (node & U(0xFF))
    word = sets[set_at[at], code >> np.uint8(6)]
    return ((word >> U(code & np.uint8(63))) & U(1)) == U(0)


@inner
@no_type_check
def step(nodes, root, i, set_at, sets, codes):  # noqa: PLR0917
    """The child of node i to which a row of codes goes."""
    node = nodes[root + i]
    code = codes[(node >> U(16)) & U(0xFFFF)]
    return (node >> U(32)) + U(goes_right(node, root + i, set_at, sets, code))


@inner
@no_type_check
def leaf_of(nodes, root, set_at, sets, codes):
    """The leaf of a row of codes."""
    i = U(0)
    while True:
        j = step(nodes, root, i, set_at, sets, codes)
        if j == i:
            return root + i
        i = j


@inner
@no_type_check
def step_without_sets(nodes, root, i, codes, row):
    """`step` in a tree without categorical splits."""
    node = nodes[root + i]
    code = U(codes[row, (node >> U(16)) & U(0xFFFF)])
    right = ((code - ((node >> U(8)) & U(0xFF))) & U(0xFF)) > (node & U(0xFF))
    return (node >> U(32)) + U(right)


@inner
@no_type_check
def leaves_without_sets(nodes, root, codes, leaves):
    """Find the leaves of rows in a tree without categorical splits, four at a time."""
    n = U(len(leaves))
    for i in range(U(0), n - (n & U(3)), U(4)):
        a0 = a1 = a2 = a3 = U(0)
        while True:
            b0 = step_without_sets(nodes, root, a0, codes, i)
            b1 = step_without_sets(nodes, root, a1, codes, i + U(1))
            b2 = step_without_sets(nodes, root, a2, codes, i + U(2))
            b3 = step_without_sets(nodes, root, a3, codes, i + U(3))
            if ((a0 ^ b0) | (a1 ^ b1) | (a2 ^ b2) | (a3 ^ b3)) == U(0):
                break
            a0, a1, a2, a3 = b0, b1, b2, b3
        leaves[i], leaves[i + U(1)] = root + a0, root + a1
        leaves[i + U(2)], leaves[i + U(3)] = root + a2, root + a3
    for i in range(n - (n & U(3)), n):
        a0 = U(0)
        while True:
            b0 = step_without_sets(nodes, root, a0, codes, i)
            if a0 == b0:
                break
            a0 = b0
        leaves[i] = root + a0


BINS = (TABLE, const(boolean, 1))
TREES = (const(uint64, 1), const(int32, 1), const(uint64, 2), const(int64, 1))
INPUTS = (TABLE, *BINS, *TREES)


@kernel(void(*INPUTS, const(int32, 1), TABLE, float64[:, ::1], int64, int64))
@no_type_check
def add_leaves(  # noqa: PLR0917, C901
    X, cuts, categorical, nodes, set_at, sets, starts, groups, values, out, start, stop
):
    """Add to each row of `out` the values of its leaves, tree after tree."""
    d, m = X.shape[1], values.shape[1]
    codes = np.empty((min(BLOCK_ROWS, stop - start), d), np.uint8)
    leaves = np.empty(len(codes), np.uint64)
    for begin in range(start, stop, BLOCK_ROWS):
        end = min(begin + BLOCK_ROWS, stop)
        for i in range(begin, end):
            for j in range(d):
                codes[i - begin, j] = code_of(X[i, j], cuts[j], categorical[j])
        for t in range(len(starts) - 1):
            g, root = U(groups[t]), U(starts[t])
            if len(sets) == 0:
                leaves_without_sets(nodes, root, codes, leaves[: end - begin])
            else:
                for i in range(end - begin):
                    leaves[i] = leaf_of(nodes, root, set_at, sets, codes[i])
            if m == 2:
                for i in range(U(end - begin)):
                    out[U(begin) + i, g] += values[leaves[i], U(0)]
                    out[U(begin) + i, g + U(1)] += values[leaves[i], U(1)]
            else:
                for i in range(U(end - begin)):
                    for j in range(U(m)):
                        out[U(begin) + i, g + j] += values[leaves[i], j]


@kernel(void(*INPUTS, int64[:, ::1], int64, int64))
@no_type_check
def find_leaves(  # noqa: PLR0917
    X, cuts, categorical, nodes, set_at, sets, starts, out, start, stop
):
    """Find the leaf of each row in each tree, as an index into all nodes."""
    d = X.shape[1]
    codes = np.empty(d, np.uint8)
    for i in range(start, stop):
        for j in range(d):
            codes[j] = code_of(X[i, j], cuts[j], categorical[j])
        for t in range(len(starts) - 1):
            out[i, t] = int64(leaf_of(nodes, U(starts[t]), set_at, sets, codes))
