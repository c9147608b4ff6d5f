"""One child of each sum: drawn from the posterior, or the best; compiled by numba."""

import math
from typing import no_type_check

import numpy as np
from numba import int32, void

from likely.core.compiled import inner, kernel
from likely.generative.circuits.kernels.kinds import PRODUCT
from likely.generative.circuits.kernels.passes import BLOCK, CIRCUIT, F2, upward

MIN_UNIFORM = 1e-300


@inner
@no_type_check
def most_probable(V, first, n, spec, numbers, kinds, starts, children, logs, L):  # noqa: PLR0917
    """Fill L with the largest log p over missing values, sums taking their best child."""
    leaves = spec.shape[0]
    for i in range(leaves):
        for r in range(n):
            if math.isnan(V[first + r, spec[i, 1]]):
                L[i, r] = numbers[i, 4]
    for k in range(len(kinds)):
        for r in range(n):
            value = 0.0 if kinds[k] == PRODUCT else -np.inf
            for e in range(starts[k], starts[k + 1]):
                if kinds[k] == PRODUCT:
                    value += L[children[e], r]
                else:
                    value = max(value, L[children[e], r] + logs[e])
            L[leaves + k, r] = value


@inner
@no_type_check
def best_child(begin, end, r, children, logs, L):  # noqa: PLR0917
    """The child of largest w p."""
    top, chosen = -np.inf, children[begin]
    for e in range(begin, end):
        value = L[children[e], r] + logs[e]
        if value > top:
            top, chosen = value, children[e]
    return chosen


@inner
@no_type_check
def drawn_child(begin, end, r, place, children, logs, L):  # noqa: PLR0917
    """The child at which the sum of w p passes exp(place)."""
    total = -np.inf
    for e in range(begin, end):
        value = L[children[e], r] + logs[e]
        high = max(total, value)
        if high > -np.inf:
            total = high + math.log(math.exp(total - high) + math.exp(value - high))
        if total >= place:
            return children[e]
    return children[end - 1]


@kernel(void(F2, F2, *CIRCUIT, int32[:, ::1]))
@no_type_check
def choose(V, U, spec, numbers, tables, kinds, starts, children, logs, out):  # noqa: PLR0917
    """(n, q) the number of the leaf of each column, where each sum has chosen one child.

    U are (n, inner nodes) uniform numbers for draws from the posterior; (n, 0) takes the
    best children, with leaves of missing values at their modes.
    """
    leaves = spec.shape[0]
    nodes = leaves + len(kinds)
    L = np.empty((nodes, BLOCK))
    waiting = np.empty(nodes, np.int64)
    best = U.shape[1] == 0
    for first in range(0, V.shape[0], BLOCK):
        n = min(BLOCK, V.shape[0] - first)
        upward(V, first, n, spec, numbers, tables, kinds, starts, children, logs, L)
        if best:
            most_probable(V, first, n, spec, numbers, kinds, starts, children, logs, L)
        for r in range(n):
            waiting[0], count = nodes - 1, 1
            while count:
                count -= 1
                node = waiting[count]
                k = node - leaves
                if k < 0:
                    out[first + r, spec[node, 1]] = node
                elif kinds[k] == PRODUCT:
                    for e in range(starts[k], starts[k + 1]):
                        waiting[count] = children[e]
                        count += 1
                else:
                    begin, end = starts[k], starts[k + 1]
                    if best:
                        chosen = best_child(begin, end, r, children, logs, L)
                    else:
                        place = math.log(U[first + r, k] + MIN_UNIFORM) + L[node, r]
                        chosen = drawn_child(begin, end, r, place, children, logs, L)
                    waiting[count] = chosen
                    count += 1
