r"""The sums of t-SNE, compiled by numba.

With $k_{ij} = 1/(1 + |y_i - y_j|^2)$ a row is attracted by $\sum_j p_{ij} k_{ij} (y_i - y_j)$ and
repelled by $\sum_j k_{ij}^2 (y_i - y_j)$. Each row adds up its own forces, so the bits do not
depend on how rows are shared among threads.
"""

from typing import Any, no_type_check

import numpy as np
from numba import float32, float64, int32, int64, njit, void

from likely.core.compiled import OPTIONS, const, kernel

FAST: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
fast = njit(**OPTIONS, **FAST)
BISECTIONS = 100


@kernel(void(const(float64, 2), float64, float64[:, ::1]))
@no_type_check
def conditional(D, perplexity, P):
    r"""Store $p_{j|i} \propto e^{-β_i D_{ij}}$ with β such that the entropy is log(perplexity).

    Args:
        D: (n, k) squared distances of neighbours, the smallest first.
        perplexity: how many neighbours count, about.
        P: (n, k) stored here.
    """
    n, k = D.shape
    target = np.log(perplexity)
    for i in range(n):
        scale = D[i].mean() - D[i, 0]
        beta, low, high = 1.0 / scale if scale > 0 else 1.0, 0.0, np.inf
        for _ in range(BISECTIONS):
            total, mean = 0.0, 0.0
            for j in range(k):
                P[i, j] = np.exp(-beta * (D[i, j] - D[i, 0]))
                total += P[i, j]
                mean += P[i, j] * (D[i, j] - D[i, 0])
            entropy = np.log(total) + beta * mean / total
            if abs(entropy - target) < 1e-8:
                break
            if entropy > target:
                low = beta
                beta = 2 * beta if high == np.inf else 0.5 * (low + high)
            else:
                high = beta
                beta = 0.5 * (low + high)
        for j in range(k):
            P[i, j] /= total


@kernel(
    void(
        const(float64, 2), int64, int64, const(int32, 1), const(int32, 1),
        const(float64, 1), float64[:, ::1], float64[::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def attract(Y, first, last, starts, ends, p, forces, losses):  # noqa: PLR0917
    r"""Store the attraction of the rows from `first` to `last`, and $\sum_j p \log(p/k)$."""
    q = Y.shape[1]
    for i in range(first, last):
        forces[i], loss = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            j, s = ends[e], 1.0
            for c in range(q):
                s += (Y[i, c] - Y[j, c]) * (Y[i, c] - Y[j, c])
            factor = p[e] / s
            for c in range(q):
                forces[i, c] += factor * (Y[i, c] - Y[j, c])
            if losses[0] >= 0 and p[e] > 0:
                loss += p[e] * np.log(p[e] * s)
        if losses[0] >= 0:
            losses[1 + i] = loss


@kernel(void(const(float64, 2), int64, int64, float64[:, ::1], float64[::1]), **FAST)
@no_type_check
def repel(Y, first, last, forces, sums):
    r"""Store the repulsion of the rows from `first` to `last` by all, and $\sum_j k_{ij}$."""
    n, q = Y.shape
    for i in range(first, last):
        total = 0.0
        forces[i] = 0.0
        for j in range(n):
            s = 1.0
            for c in range(q):
                s += (Y[i, c] - Y[j, c]) * (Y[i, c] - Y[j, c])
            k = 1.0 / s
            total += k
            for c in range(q):
                forces[i, c] += k * k * (Y[i, c] - Y[j, c])
        sums[i] = total


@fast
@no_type_check
def cubic(u, w):
    """Store the weights of Lagrange's cubic at −1, 0, 1 and 2 for u from 0 to 1."""
    w[0] = -u * (u - 1) * (u - 2) / 6
    w[1] = (u + 1) * (u - 1) * (u - 2) / 2
    w[2] = -(u + 1) * u * (u - 2) / 2
    w[3] = (u + 1) * u * (u - 1) / 6


@fast
@no_type_check
def on_grid(y, low, step, a, b):
    """The first of the four nodes in each dimension around a place, and their weights."""
    u, v = (y[0] - low[0]) / step, (y[1] - low[1]) / step
    i, j = int(u), int(v)
    cubic(u - i, a)
    cubic(v - j, b)
    return i - 1, j - 1


@kernel(void(const(float64, 2), const(float64, 1), float64, float32[:, ::1]), **FAST)
@no_type_check
def to_grid(Y, low, step, grid):
    """Add a charge of one for each place, shared by the nodes around it."""
    a, b = np.empty(4), np.empty(4)
    for i in range(len(Y)):
        row, column = on_grid(Y[i], low, step, a, b)
        for s in range(4):
            for t in range(4):
                grid[row + s, column + t] += np.float32(a[s] * b[t])


@kernel(
    void(
        const(float64, 2), int64, int64, const(float64, 1), float64,
        const(float32, 3), float64[:, ::1], float64[::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def from_grid(Y, first, last, low, step, fields, forces, sums):  # noqa: PLR0917
    """Store the values of three fields at the places from `first` to `last`."""
    a, b = np.empty(4), np.empty(4)
    for i in range(first, last):
        row, column = on_grid(Y[i], low, step, a, b)
        total, x, y = 0.0, 0.0, 0.0
        for s in range(4):
            for t in range(4):
                w = a[s] * b[t]
                total += w * fields[0, row + s, column + t]
                x += w * fields[1, row + s, column + t]
                y += w * fields[2, row + s, column + t]
        sums[i], forces[i, 0], forces[i, 1] = total, x, y
