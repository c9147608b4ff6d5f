r"""The steps of sequential minimal optimisation, compiled by numba.

The mathematics is in `smo`. Here are only the loops that run in every step, over arrays of
the active rows; they first find a smallest or largest value, so that they are vectorised,
and its index afterwards.
"""

from typing import no_type_check

import numpy as np
from numba import njit

from likely.models.kernels.svm.rows import BLOCK_ROWS, OPTIONS, PRECOMPUTED, kernel_row

MIN_CURVATURE = 1e-12


@njit(**OPTIONS)
@no_type_check
def descend(kernel, active, values, cache, limits):
    """Take steps until the gap is at most `tol`, or `count` steps: (gap, steps taken)."""
    g, b, lo, hi, up, down, diagonal = values
    eps, tol, count = limits
    for taken in range(count):
        i, u = smallest(g, up)
        row_i = fetch(i, i, kernel, active, cache)
        j, top = partner(g, down, diagonal, row_i, diagonal[i], u)
        if top - u <= tol or j < 0:
            return top - u, taken
        row_j = fetch(j, i, kernel, active, cache)
        curve = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], MIN_CURVATURE)
        delta = step(i, j, (g[j] + down[j] - u) / curve, b, lo, hi, eps)
        set_slopes(i, b, lo, hi, eps, up, down)
        set_slopes(j, b, lo, hi, eps, up, down)
        for t in range(len(g)):
            g[t] += delta * (row_i[t] - row_j[t])
    return np.inf, count


@njit(**OPTIONS)
@no_type_check
def smallest(g, up):
    """The index and value of the smallest g + up."""
    n, best, found = len(g), np.inf, 0
    for start in range(0, n, BLOCK_ROWS):
        low = np.inf
        for t in range(start, min(start + BLOCK_ROWS, n)):
            low = min(low, g[t] + up[t])
        if low < best:
            best, found = low, start
    for t in range(found, n):
        if g[t] + up[t] == best:
            return t, best
    return 0, best


@njit(**OPTIONS)
@no_type_check
def partner(g, down, diagonal, row, k_ii, u):  # noqa: PLR0917
    """The row j of the largest second-order decrease with row i, and the largest g + down."""
    n, best, found, top = len(g), 0.0, 0, -np.inf
    for start in range(0, n, BLOCK_ROWS):
        most = 0.0
        for t in range(start, min(start + BLOCK_ROWS, n)):
            d = g[t] + down[t]
            top = max(top, d)
            ahead = max(d - u, 0.0)
            curve = max(k_ii + diagonal[t] - 2.0 * row[t], MIN_CURVATURE)
            most = max(most, ahead * ahead / curve)
        if most > best:
            best, found = most, start
    for t in range(found, n):
        ahead = max(g[t] + down[t] - u, 0.0)
        curve = max(k_ii + diagonal[t] - 2.0 * row[t], MIN_CURVATURE)
        if best > 0.0 and ahead * ahead / curve >= best * 0.999999999999:
            return t, top
    return -1, top


@njit(**OPTIONS)
@no_type_check
def step(i, j, optimum, b, lo, hi, eps):  # noqa: PLR0917
    """Increase β_i and decrease β_j, to the optimum or the nearest bound (or kink)."""
    bound_i = 0.0 if (eps > 0.0 and b[i] < 0.0) else hi[i]
    bound_j = 0.0 if (eps > 0.0 and b[j] > 0.0) else lo[j]
    room_i, room_j = bound_i - b[i], b[j] - bound_j
    delta = min(optimum, room_i, room_j)
    b[i] = bound_i if delta == room_i else b[i] + delta
    b[j] = bound_j if delta == room_j else b[j] - delta
    return delta


@njit(**OPTIONS)
@no_type_check
def set_slopes(t, b, lo, hi, eps, up, down):  # noqa: PLR0917
    """Set the terms ±ε of u and d of row t; infinite at the bounds of β."""
    value = b[t]
    up[t] = np.inf if value >= hi[t] else (eps if value >= 0.0 else -eps)
    down[t] = -np.inf if value <= lo[t] else (eps if value > 0.0 else -eps)


@njit(**OPTIONS)
@no_type_check
def fetch(t, kept, kernel, active, cache):
    """Row t of K over the active rows, from the cache or computed; row `kept` stays there."""
    XT, norms, origin = active
    store, slot_of, owner, used, hand = cache
    n, slot = len(norms), slot_of[t]
    if slot < 0:
        slot = hand[0]
        while used[slot] or slot == slot_of[kept]:
            used[slot] = False
            slot = (slot + 1) % len(owner)
        hand[0] = (slot + 1) % len(owner)
        if owner[slot] >= 0:
            slot_of[owner[slot]] = -1
        owner[slot], slot_of[t] = t, slot
        out = store[slot * n : (slot + 1) * n]
        if kernel[0] == PRECOMPUTED:
            out[:] = XT[origin[t]]
        else:
            kernel_row(kernel, XT, norms, XT[:, t].copy(), norms[t], out)
    used[slot] = True
    return store[slot * n : (slot + 1) * n]


@njit(**OPTIONS)
@no_type_check
def move_rows(store, n, slots, columns):
    """Keep some columns of the rows in some slots, packed at the front of the store."""
    m = len(columns)
    for k in range(len(slots)):
        source, target = slots[k] * n, k * m
        # k·m + t ≤ slot·n + columns[t]: nothing is overwritten before it is read
        for t in range(m):
            store[target + t] = store[source + columns[t]]


@njit(**OPTIONS)
@no_type_check
def weighted_sum(kernel, XT, norms, others, weights):
    """The sum Σ_j β_j K(z_j, x_t) for each column t of XT; `others` are (z, s) of rows j."""
    Z, own = others
    total, row = np.zeros(len(norms)), np.empty(len(norms))
    for j in range(len(weights)):
        kernel_row(kernel, XT, norms, Z[j], own[j], row)
        for t in range(len(total)):
            total[t] += weights[j] * row[t]
    return total
