r"""Passes over a circuit, compiled by numba, for blocks of rows.

Nodes are numbered so that children come first: leaves, then sums and products, the root last.
Upwards, $\log p$ of a product is the sum of its children's, of a sum $\log \sum_k w_k p_k$; a
leaf whose value is missing is 1. Downwards, the *flow* of a node is the posterior
probability that it is used: all of it goes to each child of a product, and the share
$w_k p_k / p$ to child k of a sum.

Every kernel takes a circuit as seven arrays: `spec`, `numbers` and `tables` of the leaves (see
`leaf_log_prob`), then `kinds` of the inner nodes, `starts` of their edges, and `children` and
`logs` (log weights) of the edges.
"""

import math
from typing import no_type_check

import numpy as np
from numba import float64, int64, void

from likely.core.compiled import const, inner, kernel
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    PRODUCT,
    STUDENT,
)
from likely.generative.circuits.kernels.leaf_values import bin_of, leaf_log_prob

BLOCK = 128
"""Rows that go through a circuit together."""
F2, F1, I1, I2 = const(float64, 2), const(float64, 1), const(int64, 1), const(int64, 2)
CIRCUIT = (I2, F2, F1, I1, I1, I1, F1)


@inner
@no_type_check
def leaves_up(V, first, n, spec, numbers, tables, L):  # noqa: PLR0917
    """Fill the rows of L that belong to leaves."""
    for i in range(spec.shape[0]):
        column = spec[i, 1]
        for r in range(n):
            x = V[first + r, column]
            if math.isnan(x):
                L[i, r] = numbers[i, 5]
            else:
                L[i, r] = leaf_log_prob(x, i, spec, numbers, tables)


@inner
@no_type_check
def product_up(node, begin, end, n, children, L):  # noqa: PLR0917
    """log p of a product."""
    for r in range(n):
        L[node, r] = L[children[begin], r]
    for e in range(begin + 1, end):
        child = children[e]
        for r in range(n):
            L[node, r] += L[child, r]


@inner
@no_type_check
def sum_up(node, begin, end, n, children, logs, L):  # noqa: PLR0917
    """log p of a sum."""
    for r in range(n):
        L[node, r] = -np.inf
    for e in range(begin, end):
        child, weight = children[e], logs[e]
        for r in range(n):
            L[node, r] = max(L[node, r], L[child, r] + weight)
    for r in range(n):
        top = L[node, r]
        if top == -np.inf:
            continue
        total = 0.0
        for e in range(begin, end):
            total += math.exp(L[children[e], r] + logs[e] - top)
        L[node, r] = top + math.log(total)


@inner
@no_type_check
def upward(V, first, n, spec, numbers, tables, kinds, starts, children, logs, L):  # noqa: PLR0917
    """Fill L (nodes, n) with log p of rows first, ..., first + n − 1."""
    leaves_up(V, first, n, spec, numbers, tables, L)
    for k in range(len(kinds)):
        node = spec.shape[0] + k
        if kinds[k] == PRODUCT:
            product_up(node, starts[k], starts[k + 1], n, children, L)
        else:
            sum_up(node, starts[k], starts[k + 1], n, children, logs, L)


@inner
@no_type_check
def downward(n, spec, kinds, starts, children, logs, L, F):  # noqa: PLR0917
    """Fill F (nodes, n) with flows; those of the root are there already."""
    leaves = spec.shape[0]
    F[: leaves + len(kinds) - 1] = 0.0
    for k in range(len(kinds) - 1, -1, -1):
        node = leaves + k
        for e in range(starts[k], starts[k + 1]):
            child, weight = children[e], logs[e]
            for r in range(n):
                if kinds[k] == PRODUCT:
                    F[child, r] += F[node, r]
                elif F[node, r] > 0.0 and L[node, r] > -np.inf:
                    share = math.exp(L[child, r] + weight - L[node, r])
                    F[child, r] += F[node, r] * share


@kernel(void(F2, *CIRCUIT, float64[::1]))
@no_type_check
def log_probs(V, spec, numbers, tables, kinds, starts, children, logs, out):  # noqa: PLR0917
    """The log probability of each row."""
    nodes = spec.shape[0] + len(kinds)
    L = np.empty((nodes, BLOCK))
    for first in range(0, V.shape[0], BLOCK):
        n = min(BLOCK, V.shape[0] - first)
        upward(V, first, n, spec, numbers, tables, kinds, starts, children, logs, L)
        for r in range(n):
            out[first + r] = L[nodes - 1, r]


@kernel(void(F2, *CIRCUIT, float64[:, ::1]))
@no_type_check
def leaf_flows(V, spec, numbers, tables, kinds, starts, children, logs, out):  # noqa: PLR0917
    """(n, leaves) the posterior probability of each leaf, given what is observed of a row."""
    leaves = spec.shape[0]
    nodes = leaves + len(kinds)
    L, F = np.empty((nodes, BLOCK)), np.empty((nodes, BLOCK))
    for first in range(0, V.shape[0], BLOCK):
        n = min(BLOCK, V.shape[0] - first)
        upward(V, first, n, spec, numbers, tables, kinds, starts, children, logs, L)
        for r in range(n):
            F[nodes - 1, r] = 1.0
        downward(n, spec, kinds, starts, children, logs, L, F)
        for i in range(leaves):
            for r in range(n):
                out[first + r, i] = F[i, r]


@inner
@no_type_check
def add_edges(n, leaves, kinds, starts, children, logs, L, F, edges):  # noqa: PLR0917
    """Add the flow along each edge of a sum."""
    for k in range(len(kinds)):
        if kinds[k] == PRODUCT:
            continue
        node = leaves + k
        for e in range(starts[k], starts[k + 1]):
            child, weight, total = children[e], logs[e], 0.0
            for r in range(n):
                if F[node, r] > 0.0:
                    share = math.exp(L[child, r] + weight - L[node, r])
                    total += F[node, r] * share
            edges[e] += total


@inner
@no_type_check
def add_value(x, f, i, spec, numbers, tables, moments, counts):  # noqa: PLR0917
    """Add one value that flows to leaf i."""
    kind = spec[i, 0]
    if kind == CATEGORY:
        counts[spec[i, 2] + int(x)] += f
    elif kind == HISTOGRAM:
        k = bin_of(x, i, spec, tables)
        if k >= 0:
            counts[spec[i, 2] + k] += f
    else:
        u = f
        if kind == STUDENT:
            z = (x - numbers[i, 0]) * numbers[i, 1]
            u = f * (numbers[i, 2] + 1.0) / (numbers[i, 2] + z * z)
        moments[i, 0] += f
        moments[i, 1] += u
        moments[i, 2] += u * x
        moments[i, 3] += u * x * x


@kernel(float64(F2, F1, *CIRCUIT, float64[::1], float64[:, ::1], float64[::1]))
@no_type_check
def statistics(  # noqa: PLR0917
    V, w, spec, numbers, tables, kinds, starts, children, logs, edges, moments, counts
):
    """Expected statistics of EM, which are added to three arrays; the sum of w log p.

    `edges` gets the flow along each edge of a sum, `counts` that at each entry of a table, and
    `moments` (leaves, 4) the sums of f, f u, f u x and f u x² over the flows f to a
    leaf, where u is 1, and (ν + 1)/(ν + z²) for Student leaves.
    """
    leaves = spec.shape[0]
    nodes = leaves + len(kinds)
    L, F = np.empty((nodes, BLOCK)), np.empty((nodes, BLOCK))
    total = 0.0
    for first in range(0, V.shape[0], BLOCK):
        n = min(BLOCK, V.shape[0] - first)
        upward(V, first, n, spec, numbers, tables, kinds, starts, children, logs, L)
        for r in range(n):
            F[nodes - 1, r] = w[first + r]
            total += w[first + r] * L[nodes - 1, r]
        downward(n, spec, kinds, starts, children, logs, L, F)
        add_edges(n, leaves, kinds, starts, children, logs, L, F, edges)
        for i in range(leaves):
            for r in range(n):
                x, f = V[first + r, spec[i, 1]], F[i, r]
                if f > 0.0 and not math.isnan(x):
                    add_value(x, f, i, spec, numbers, tables, moments, counts)
    return total
