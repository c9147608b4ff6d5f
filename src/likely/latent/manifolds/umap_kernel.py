r"""The steps of UMAP, compiled by numba.

A row moves in turn along the forces of its own edges and of rows drawn at random, while all other
rows stay where they were when the epoch began. So a row is written by nobody else, and the bits
do not depend on how rows are shared among threads. With $s = |y_i - y_j|^2$ the forces are

$$\frac{-2ab\,s^{b-1}}{1 + a s^b}(y_i - y_j) \qquad\text{and}\qquad
  \frac{2b}{(10^{-3} + s)(1 + a s^b)}(y_i - y_j),$$

the gradients of $\log q$ and $\log(1 - q)$ for $q = 1/(1 + a s^b)$.
"""

from typing import Any, no_type_check

import numpy as np
from numba import float32, float64, int32, int64, njit, uint64, void

from likely.core.compiled import OPTIONS, const, kernel

U = np.uint64
FAST: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
fast = njit(**OPTIONS, **FAST)
BISECTIONS = 64
MIN_WIDTH = 1e-3
"""The width of the neighbourhood of a row, as a part of its mean distance, at least."""
FIRST_ENTRY, LAST_ENTRY = (127 - 24) << 6, (127 + 24) << 6
"""The places of 2⁻²⁴ and 2²⁴ in the order of all numbers, 64 to an octave."""
MAX_FORCE = 4.0
"""A coordinate moves by at most this much for one edge, at the first step size."""


@kernel(
    void(const(float64, 2), float64, float64[::1], float64[::1], float64[:, ::1]),
)
@no_type_check
def memberships(D, average, nearest, widths, mu):
    r"""Store $μ_{ij} = e^{-\max(0, d_{ij} - ρ_i)/σ_i}$ with $\sum_j μ_{ij} = \log_2 k$.

    Args:
        D: (n, k − 1) distances of the neighbours.
        average: the mean of all distances.
        nearest: (n,) ρ, the distance of the nearest row that is another one; stored here.
        widths: (n,) σ; stored here.
        mu: (n, k − 1) stored here.
    """
    n, k = D.shape
    target = np.log2(k + 1.0)
    for i in range(n):
        rho = 0.0
        for j in range(k):
            if D[i, j] > 0:
                rho = D[i, j]
                break
        low, high, sigma = 0.0, np.inf, 1.0
        if average > 0:
            sigma = average
        for _ in range(BISECTIONS):
            total = 0.0
            for j in range(k):
                total += np.exp(-max(0.0, D[i, j] - rho) / sigma)
            if abs(total - target) < 1e-5:
                break
            if total > target:
                high = sigma
                sigma = 0.5 * (low + high)
            else:
                low = sigma
                sigma = 2 * sigma if high == np.inf else 0.5 * (low + high)
        least = D[i].mean() if rho > 0 else average
        sigma = max(sigma, MIN_WIDTH * least)
        nearest[i], widths[i] = rho, sigma
        for j in range(k):
            over = max(0.0, D[i, j] - rho)
            mu[i, j] = 1.0 if over == 0 else np.exp(-over / sigma)


def force_tables(a: float, b: float) -> np.ndarray:
    """(2, t) the factors of attraction and repulsion at squared distances s.

    Args:
        a: of q = 1/(1 + a sᵇ).
        b: of the same.
    """
    bits = np.arange(FIRST_ENTRY, LAST_ENTRY, dtype=np.int32) << 17
    s = (bits + (1 << 16)).view(np.float32).astype(np.float64)
    q = 1 / (1 + a * s**b)
    attraction, repulsion = -2 * a * b * s ** (b - 1) * q, 2 * b * q / (1e-3 + s)
    attraction[0] = 0.0  # the same place
    return np.stack([attraction, repulsion]).astype(np.float32)


@fast
@no_type_check
def next_bits(state):
    """The next state, and random bits made of it (splitmix64)."""
    state += U(0x9E3779B97F4A7C15)
    z = (state ^ (state >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return state, z ^ (z >> U(31))


@fast
@no_type_check
def force(s, table):
    """The force at a squared distance, from a table with 64 entries for each octave."""
    place = (np.float32(s).view(np.int32) >> 17) - FIRST_ENTRY
    return table[max(0, min(len(table) - 1, place))]


@fast
@no_type_check
def clipped(value, limit):
    """A number from −limit to limit."""
    return max(-limit, min(limit, value))


@fast
@no_type_check
def move(y, Z, j, table, step, limit):  # noqa: PLR0917
    """Move y along the force of row j, each coordinate by the limit at most."""
    s = np.float32(0)
    for c in range(len(y)):
        s += (y[c] - Z[j, c]) * (y[c] - Z[j, c])
    factor = step * force(s, table)
    for c in range(len(y)):
        y[c] += clipped(factor * (y[c] - Z[j, c]), limit)


@fast
@no_type_check
def move_in_plane(u, v, Z, j, table, step, limit):  # noqa: PLR0917
    """The same in two dimensions, without loops."""
    du, dv = u - Z[j, 0], v - Z[j, 1]
    factor = step * force(du * du + dv * dv, table)
    return u + clipped(factor * du, limit), v + clipped(factor * dv, limit)


@fast
@no_type_check
def has_turn(rate, epoch):
    """Whether an edge of this rate has its turn in this epoch."""
    return np.int64((epoch + 1) * rate) != np.int64(epoch * rate)


@kernel(
    void(
        const(float32, 2), const(float32, 2), int64, int64, const(int32, 1),
        const(int32, 1), const(float64, 1), int64, uint64, const(float32, 2),
        float32, int64, float32[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def epoch_of_rows(  # noqa: PLR0917
    Y, Z, first, last, starts, ends, rates, epoch, seed, forces, step, negatives, out
):
    """Move the rows from `first` to `last` once along the edges whose turn it is.

    Args:
        Y: (n, q) the places of the rows that move.
        Z: (m, q) the places of the rows that attract and repel.
        first: the first row to move.
        last: the end of the rows to move.
        starts: (n + 1,) where the edges of each row begin.
        ends: the other ends of the edges.
        rates: how often an edge has its turn in an epoch, at most 1.
        epoch: the number of the epoch.
        seed: of the random numbers.
        forces: (2, t) attraction and repulsion, from `force_tables`.
        step: the step size.
        negatives: how many rows are drawn for each edge.
        out: (n, q) the new places are stored here.
    """
    limit, m, plane = step * np.float32(MAX_FORCE), U(len(Z)), Z.shape[1] == 2
    pulls, pushes = forces[0], forces[1]
    for i in range(first, last):
        y = out[i]
        y[:] = Y[i]
        state = (U(i) + U(epoch) * U(0xD1342543DE82EF95)) ^ seed
        if plane:
            u, v = y[0], y[1]
            for e in range(starts[i], starts[i + 1]):
                if has_turn(rates[e], epoch):
                    u, v = move_in_plane(u, v, Z, ends[e], pulls, step, limit)
                    for _ in range(negatives):
                        state, bits = next_bits(state)
                        j = np.int64((bits >> U(32)) * m >> U(32))
                        u, v = move_in_plane(u, v, Z, j, pushes, step, limit)
            y[0], y[1] = u, v
        else:
            for e in range(starts[i], starts[i + 1]):
                if has_turn(rates[e], epoch):
                    move(y, Z, ends[e], pulls, step, limit)
                    for _ in range(negatives):
                        state, bits = next_bits(state)
                        j = np.int64((bits >> U(32)) * m >> U(32))
                        move(y, Z, j, pushes, step, limit)
