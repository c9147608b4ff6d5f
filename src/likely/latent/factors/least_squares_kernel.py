"""The sweeps of non-negative least squares, compiled by numba."""

from typing import no_type_check

import numpy as np
from numba import float64, int64

from likely.core.compiled import const, kernel

BLOCK = 64
"""Columns of F that are improved together, so that they stay in the nearest cache."""


@kernel(
    float64(
        float64[:, ::1], const(float64, 2), const(float64, 2), const(float64, 1), int64,
        float64, float64,
    ),
    fastmath={"reassoc", "nnan", "nsz", "contract"},
)  # fmt: skip
@no_type_check
def improve(F, G, A, w, sweeps, progress, settled):  # noqa: C901, PLR0917
    """Improve each entry of F, in place, by sweeps over the components.

    Args:
        F: (k, m) at least 0.
        G: (k, k) products of components.
        A: (k, m) products of components and data.
        w: (m,) how often each column counts in what is returned.
        sweeps: the largest number of sweeps.
        progress: a block is left when a sweep changes it by less than this share of what
            the first one did.
        settled: or when no entry of a column changes by more than this share of the
            largest one.

    Returns:
        The sum of |projected gradient| that the first sweep met.
    """
    k, m = F.shape
    violation = 0.0
    part, goal = np.empty((k, BLOCK)), np.empty((k, BLOCK))
    gradient = np.empty(BLOCK)
    moved, largest, often = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        part[:] = 0.0
        goal[:] = 0.0
        often[:] = 0.0
        often[:width] = w[start : start + width]
        for t in range(k):
            for j in range(width):
                part[t, j] = F[t, start + j]
                goal[t, j] = A[t, start + j]
        first = 0.0
        for i in range(sweeps):
            change = 0.0
            moved[:] = 0.0
            largest[:] = 0.0
            for t in range(k):
                if G[t, t] <= 0.0:
                    continue
                for j in range(BLOCK):
                    gradient[j] = -goal[t, j]
                for r in range(k):
                    g = G[t, r]
                    for j in range(BLOCK):
                        gradient[j] += g * part[r, j]
                inverse, sizes, squares = 1.0 / G[t, t], 0.0, 0.0
                for j in range(BLOCK):
                    new = part[t, j] - gradient[j] * inverse
                    new = new if new > 0.0 else 0.0
                    step = abs(new - part[t, j])
                    part[t, j] = new
                    sizes += often[j] * step
                    squares += step * step
                    moved[j] = step if step > moved[j] else moved[j]
                    largest[j] = new if new > largest[j] else largest[j]
                change += squares
                if i == 0:
                    violation += G[t, t] * sizes
            if i == 0:
                first = change
            still = 0
            for j in range(width):
                still += moved[j] > settled * largest[j]
            if change <= progress * progress * first or still == 0:
                break
        for t in range(k):
            for j in range(width):
                F[t, start + j] = part[t, j]
    return violation
