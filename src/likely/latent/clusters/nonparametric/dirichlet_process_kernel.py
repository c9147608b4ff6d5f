r"""A sweep of collapsed Gibbs sampling over a Dirichlet process mixture, compiled by numba.

Means and covariances of the clusters are integrated out. Row by row, a row leaves its cluster
and joins cluster k with a probability proportional to $n_k\, t_k(x)$, or a new one to
$α\, t_0(x)$, where t is the predictive density of a cluster with a normal-inverse-Wishart prior:

$$\log t_k(x) = C_{n_k} - \log |L_k| - \tfrac{ν + 1}{2} \log\bigl(1 + \tfrac{κ}{κ + 1}
  |L_k^{-1}(x - μ_k)|^2\bigr), \qquad L_k L_k^\top = Ψ_k .$$

A row that joins or leaves changes Ψ by a matrix of rank one, and its factor in O(d²).
"""

from typing import no_type_check

import numpy as np
from numba import float64, int64, void

from likely.core.compiled import const, inner, kernel


@inner
@no_type_check
def change_rank_one(L, v, sign):
    """The factor of LLᵀ + sign·vvᵀ, in place of L; False where that is not definite."""
    d = len(v)
    for j in range(d):
        square = L[j, j] * L[j, j] + sign * v[j] * v[j]
        if not square > 1e-14 * L[j, j] * L[j, j]:
            return False
        r = np.sqrt(square)
        c, s = r / L[j, j], v[j] / L[j, j]
        L[j, j] = r
        for i in range(j + 1, d):
            L[i, j] = (L[i, j] + sign * s * v[i]) / c
            v[i] = c * v[i] - s * L[i, j]
    return True


@inner
@no_type_check
def square_distance(x, mean, L, v):
    """|L⁻¹(x − μ)|²."""
    total = 0.0
    for i in range(len(x)):
        gap = x[i] - mean[i]
        for j in range(i):
            gap -= L[i, j] * v[j]
        v[i] = gap / L[i, i]
        total += v[i] * v[i]
    return total


@inner
@no_type_check
def log_size(L):
    """log |L|."""
    total = 0.0
    for j in range(len(L)):
        total += np.log(L[j, j])
    return total


@inner
@no_type_check
def join(x, k, counts, means, L, kappa, v):  # noqa: PLR0917
    """Add a row to cluster k."""
    strength = kappa + counts[k]
    scale = np.sqrt(strength / (strength + 1.0))
    for j in range(len(x)):
        gap = x[j] - means[k, j]
        v[j] = scale * gap
        means[k, j] += gap / (strength + 1.0)
    counts[k] += 1
    return change_rank_one(L[k], v, 1.0)


@inner
@no_type_check
def leave(x, k, counts, means, L, kappa, v):  # noqa: PLR0917
    """Take a row from cluster k; False where rounding spoils the factor."""
    strength = kappa + counts[k] - 1.0
    scale = np.sqrt(strength / (strength + 1.0))
    for j in range(len(x)):
        means[k, j] -= (x[j] - means[k, j]) / strength
        v[j] = scale * (x[j] - means[k, j])
    counts[k] -= 1
    return change_rank_one(L[k], v, -1.0)


@inner
@no_type_check
def gather(X, z, k, skip, counts, means, L, prior, kappa, v):  # noqa: PLR0917
    """Make cluster k anew from its rows, but for one."""
    counts[k], means[k], L[k] = 0, prior[0], prior[1:]
    for i in range(len(X)):
        if z[i] == k and i != skip:
            join(X[i], k, counts, means, L, kappa, v)


@kernel(
    int64(
        const(float64, 2), int64, const(float64, 1), float64, const(float64, 2), float64,
        float64, const(float64, 1), int64[::1], int64[::1], float64[:, ::1],
        float64[:, :, ::1],
    )
)  # fmt: skip
@no_type_check
def sweep(X, first, u, alpha, prior, kappa, nu, C, z, counts, means, L):  # noqa: C901, PLR0917
    """Draw the cluster of each row given those of all others.

    Args:
        X: (n, d) rows.
        first: the row to begin with.
        u: (n,) random numbers from 0 to 1.
        alpha: of the Dirichlet process.
        prior: (1 + d, d) the prior mean, and the factor of the prior Ψ.
        kappa: how many rows the prior mean counts for.
        nu: the degrees of freedom of the prior.
        C: (n + 1,) the constants of a cluster of 0, 1, ... rows.
        z: (n,) the clusters; −1 for a row that is in none yet.
        counts: (m,) the sizes of the clusters, 0 where there is none.
        means: (m, d) the posterior means of their means.
        L: (m, d, d) the factors of their Ψ.

    Returns:
        The row at which there was no room for another cluster, or n.
    """
    n, d = X.shape
    m, v, weights = len(counts), np.empty(d), np.empty(len(counts) + 1)
    sizes = np.empty(m)
    for k in range(m):
        sizes[k] = log_size(L[k]) if counts[k] > 0 else 0.0
    prior_size = log_size(prior[1:])
    for i in range(first, n):
        free = -1
        for k in range(m):
            if counts[k] == 0:
                free = k
                break
        if free < 0:
            return i
        x, own = X[i], z[i]
        if own >= 0:
            if not leave(x, own, counts, means, L, kappa, v):
                gather(X, z, own, i, counts, means, L, prior, kappa, v)
            sizes[own] = log_size(L[own])
        top = -np.inf
        for k in range(m + 1):
            if k < m and counts[k] == 0:
                weights[k] = -np.inf
                continue
            if k < m:
                c, size = counts[k], sizes[k]
                q, share = square_distance(x, means[k], L[k], v), np.log(c)
            else:
                c, size = 0, prior_size
                q, share = square_distance(x, prior[0], prior[1:], v), np.log(alpha)
            strength = kappa + c
            power = 0.5 * (nu + c + 1.0)
            weights[k] = (
                share + C[c] - size - power * np.log1p(q * strength / (strength + 1.0))
            )
            top = max(top, weights[k])
        total = 0.0
        for k in range(m + 1):
            weights[k] = np.exp(weights[k] - top)
            total += weights[k]
        place, chosen = u[i] * total, -1
        for k in range(m + 1):
            if weights[k] > 0.0:
                chosen = k
                place -= weights[k]
                if place < 0.0:
                    break
        if chosen == m:
            chosen = free
            counts[chosen], means[chosen], L[chosen] = 0, prior[0], prior[1:]
        join(x, chosen, counts, means, L, kappa, v)
        z[i], sizes[chosen] = chosen, log_size(L[chosen])
    return n


@kernel(void(const(float64, 2), const(int64, 1), const(float64, 2), float64[:, :, ::1]))
@no_type_check
def add_scatter(X, z, centres, S):
    """Add (x − centre)(x − centre)ᵀ of each row to that of its cluster, below the diagonal."""
    d = X.shape[1]
    for i in range(len(X)):
        k = z[i]
        for r in range(d):
            gap = X[i, r] - centres[k, r]
            for c in range(r + 1):
                S[k, r, c] += gap * (X[i, c] - centres[k, c])


@kernel(
    void(
        const(float64, 2), const(float64, 2), const(float64, 3), const(float64, 1),
        const(float64, 1), const(float64, 1), int64, int64, float64[:, ::1],
    )
)  # fmt: skip
@no_type_check
def log_student(X, means, L, constants, powers, factors, first, last, out):  # noqa: PLR0917
    """Fill rows of `out` with constant_k − power_k log(1 + factor_k |L_k⁻¹(x − μ_k)|²)."""
    v = np.empty(X.shape[1])
    for i in range(first, last):
        for k in range(len(means)):
            q = square_distance(X[i], means[k], L[k], v)
            out[i, k] = constants[k] - powers[k] * np.log1p(factors[k] * q)
