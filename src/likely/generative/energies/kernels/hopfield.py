r"""Asynchronous updates of Hopfield networks, compiled by numba: one unit after another.

A unit takes the sign that lowers the energy, and keeps its own where both are equal. So the
energy never rises, and the network comes to rest.
"""

from typing import no_type_check

import numpy as np
from numba import float64, int64

from likely.core.compiled import const, inner, kernel


@kernel(
    int64(const(float64, 2), float64[:, ::1], const(int64, 2), float64[:, ::1]),
)
@no_type_check
def settle_quadratic(W, X, orders, energies):
    """Update rows until they rest, by E = −½ xᵀWx; the number of sweeps that were needed.

    Args:
        W: (d, d) symmetric, zero diagonal.
        X: (n, d) rows of ±1, changed in place.
        orders: (sweeps, d) the order of units in each sweep.
        energies: (n, sweeps + 1) E before and after each sweep.
    """
    n, d = X.shape
    most = 0
    field = np.empty(d)
    for r in range(n):
        x = X[r]
        for i in range(d):
            total = 0.0
            for j in range(d):
                total += W[i, j] * x[j]
            field[i] = total
        energy = -0.5 * np.dot(field, x)
        energies[r, 0] = energy
        done = 0
        for s in range(orders.shape[0]):
            changed = False
            for t in range(d):
                i = orders[s, t]
                if field[i] * x[i] < 0:
                    energy += 2.0 * field[i] * x[i]
                    step = -2.0 * x[i]
                    x[i] = -x[i]
                    changed = True
                    for j in range(d):
                        field[j] += W[i, j] * step
            energies[r, s + 1] = energy
            done = s + 1
            if not changed:
                break
        for s in range(done + 1, orders.shape[0] + 1):
            energies[r, s] = energies[r, done]
        most = max(most, done)
    return most


@inner
@no_type_check
def dense_energy(z, degree):
    """−Σ F(z): F is exp where the degree is 0 (then −log Σ exp), else z^degree."""
    if degree == 0:
        top = z.max()
        total = 0.0
        for k in range(len(z)):
            total += np.exp(z[k] - top)
        return -(top + np.log(total))
    total = 0.0
    for k in range(len(z)):
        total += z[k] ** degree
    return -total


@kernel(
    int64(const(float64, 2), float64[:, ::1], const(int64, 2), int64, float64[:, ::1]),
)
@no_type_check
def settle_dense(P, X, orders, degree, energies):
    """Update rows until they rest, by E = −Σ_μ F(ξ_μ · x); the number of sweeps.

    Args:
        P: (p, d) patterns of ±1.
        X: (n, d) rows of ±1, changed in place.
        orders: (sweeps, d) the order of units in each sweep.
        degree: of F(z) = (z/d)^degree; 0 is F = exp z.
        energies: (n, sweeps + 1) E before and after each sweep; −log Σ exp for degree 0.
    """
    n, d = X.shape
    scale = 1.0 if degree == 0 else 1.0 / d
    most = 0
    z, other = np.empty(len(P)), np.empty(len(P))
    for r in range(n):
        x = X[r]
        for k in range(len(P)):
            z[k] = scale * np.dot(P[k], x)
        now = dense_energy(z, degree)
        energies[r, 0] = now
        done = 0
        for s in range(orders.shape[0]):
            changed = False
            for t in range(d):
                i = orders[s, t]
                for k in range(len(P)):
                    other[k] = z[k] - 2.0 * scale * P[k, i] * x[i]
                then = dense_energy(other, degree)
                if then < now:
                    x[i] = -x[i]
                    z[:] = other
                    now = then
                    changed = True
            energies[r, s + 1] = now
            done = s + 1
            if not changed:
                break
        for s in range(done + 1, orders.shape[0] + 1):
            energies[r, s] = energies[r, done]
        most = max(most, done)
    return most
