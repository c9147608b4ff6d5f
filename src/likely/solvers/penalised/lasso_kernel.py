r"""The coordinate descent behind `lasso_path`, compiled by numba.

It works on the second moments G = XᵀWX, c = XᵀWy, yy = yᵀWy, each over Σw. With
$q = c - Gb$, one sweep sets each coefficient to its exact minimiser,

$$b_j \leftarrow \frac{S(q_j + G_{jj} b_j,\; t)}{G_{jj} + r}, \qquad
  S(z, t) = \operatorname{sign}(z)\max(|z| - t, 0),$$

with threshold $t = αρ$ and ridge $r = α(1-ρ)$. Only a working set is swept: the
coefficients that the strong rule keeps, with their rows of G copied next to each other.
The others are checked against the optimality conditions before a solution is accepted.
Every few sweeps the last ones are extrapolated (Anderson), if that lowers the
objective.

A duality gap certifies each solution: with $s = \min(1, t/\max_j|q_j - r b_j|)$ the
scaled residual is dual feasible, and the objective is at most `gap` above its minimum.
"""

from typing import no_type_check

import numpy as np
from numba import float64, int64, types

from likely.core.compiled import const, inner, kernel

ANDERSON_SWEEPS = 6
"""Sweeps that are extrapolated together."""


@inner
@no_type_check
def primal(c, yy, b, q, t, ridge):  # noqa: PLR0917
    """½ Σ w r² + t‖b‖₁ + ½ ridge ‖b‖², over Σw."""
    total = yy
    for i in range(len(b)):
        total += b[i] * (ridge * b[i] - q[i] - c[i]) + 2 * t * np.abs(b[i])
    return 0.5 * total


@inner
@no_type_check
def duality_gap(c, yy, b, q, t, ridge):  # noqa: PLR0917
    """The duality gap: an upper bound on the objective minus its minimum."""
    residual, target, penalty, largest = yy, yy, 0.0, 0.0
    for i in range(len(b)):
        target -= c[i] * b[i]
        residual -= (c[i] + q[i] - ridge * b[i]) * b[i]
        penalty += t * np.abs(b[i])
        largest = max(largest, np.abs(q[i] - ridge * b[i]))
    s = 1.0 if largest <= t else t / largest
    return 0.5 * residual + penalty - s * target + 0.5 * s * s * residual


@inner
@no_type_check
def largest_subgradient(b, q, t):
    """The largest entry of the smallest subgradient of −qᵀb + t‖b‖₁."""
    largest = 0.0
    for i in range(len(b)):
        at_zero = max(np.abs(q[i]) - t, 0.0)
        slope = at_zero if b[i] == 0.0 else np.abs(t * np.sign(b[i]) - q[i])
        largest = max(largest, slope)
    return largest


@inner
@no_type_check
def extrapolate(c, yy, b, q, history, t, ridge):  # noqa: PLR0917
    """Move to the affine combination of the last sweeps with the smallest residual."""
    steps = history[0, 1:] - history[0, :-1]
    U = steps @ steps.T
    size = np.trace(U)
    if not size > 1e-290:
        return
    z = np.linalg.solve(
        U / size + 1e-12 * np.eye(ANDERSON_SWEEPS), np.ones(ANDERSON_SWEEPS)
    )
    z /= z.sum()
    new_b, new_q = np.zeros_like(b), np.zeros_like(q)  # q is affine in b
    for i in range(ANDERSON_SWEEPS):
        new_b += z[i] * history[0, i + 1]
        new_q += z[i] * history[1, i + 1]
    if primal(c, yy, new_b, new_q, t, ridge) < primal(c, yy, b, q, t, ridge):
        b[:] = new_b
        q[:] = new_q


@inner
@no_type_check
def descend(work, t, ridge, tolerance, limit):
    """Sweep until the gap is small; returns the number of sweeps."""
    rows, c, yy, b, q, history = work
    m, kept = len(b), 0
    for sweep in range(limit):
        history[0, kept, :m] = b
        history[1, kept, :m] = q
        for i in range(m):
            g, old, row = rows[i, i], b[i], rows[i]
            if g <= 0.0:
                continue
            z = q[i] + g * old
            b[i] = np.sign(z) * max(np.abs(z) - t, 0.0) / (g + ridge)
            change = b[i] - old
            if change != 0.0:
                for j in range(m):
                    q[j] -= change * row[j]
        if duality_gap(c, yy, b, q, t, ridge) <= tolerance:
            return sweep + 1
        kept += 1
        if kept == ANDERSON_SWEEPS:
            history[0, kept, :m] = b
            history[1, kept, :m] = q
            extrapolate(c, yy, b, q, history[:, :, :m], t, ridge)
            kept = 0
    return limit


@kernel(
    types.Tuple((float64[:, ::1], float64[::1], float64[::1], int64[::1]))(
        *(const(float64, 2), const(float64, 1), float64, const(float64, 1)),
        *(float64, float64, int64),
    )
)
@no_type_check
def path(G, c, yy, alphas, l1_ratio, tolerance, max_sweeps):  # noqa: PLR0917
    """Coefficients, gap, largest subgradient and sweeps for each alpha."""
    d, K = len(c), len(alphas)
    B, gaps = np.zeros((K, d)), np.zeros(K)
    slopes, sweeps = np.zeros(K), np.zeros(K, np.int64)
    working, outside, m = np.zeros(d, np.int64), np.ones(d, np.bool_), 0
    rows, b, q, targets = np.empty((d, d)), np.zeros(d), np.zeros(d), np.zeros(d)
    history = np.zeros((2, ANDERSON_SWEEPS + 1, d))
    full_q = c.copy()
    before = np.max(np.abs(c))
    for k in range(K):
        t, ridge = alphas[k] * l1_ratio, alphas[k] * (1 - l1_ratio)
        entering = outside & (np.abs(full_q) > 2 * t - before)  # the strong rule
        while True:
            for j in np.flatnonzero(entering):
                for i in range(m):
                    rows[i, m] = rows[m, i] = G[working[i], j]
                rows[m, m] = G[j, j]
                b[m], q[m], targets[m] = 0.0, full_q[j], c[j]
                working[m], outside[j] = j, False
                m += 1
            work = rows[:m], targets[:m], yy, b[:m], q[:m], history
            sweeps[k] += descend(work, t, ridge, tolerance, max_sweeps - sweeps[k])
            full_q[:] = c
            for i in range(m):
                if b[i] != 0.0:
                    full_q -= b[i] * G[working[i]]
            q[:m] = full_q[working[:m]]
            entering = outside & (np.abs(full_q) > t)  # violations
            if not entering.any() or sweeps[k] >= max_sweeps:
                break
        gaps[k] = duality_gap(targets[:m], yy, b[:m], q[:m], t, ridge)
        slopes[k] = largest_subgradient(b[:m], q[:m] - ridge * b[:m], t)
        B[k][working[:m]] = b[:m]
        before = t
    return B, gaps, slopes, sweeps
