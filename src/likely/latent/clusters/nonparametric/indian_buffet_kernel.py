r"""Collapsed Gibbs sampling of binary features with normal loadings, compiled by numba.

The loadings A are integrated out: given Z and X they are normal with the covariance
$Σ = (Z^\top Z/σ_x^2 + I/σ_a^2)^{-1}$ for every column and the mean $M = Σ Z^\top X/σ_x^2$.
Without row i,

$$x_i \mid z \sim N\bigl(z^\top M_{-i},\; (σ_x^2 + z^\top Σ_{-i} z)\, I\bigr),$$

and a feature that only row i has adds $σ_a^2$ to this variance. A row that leaves or comes back
changes Σ by a matrix of rank one.
"""

from typing import no_type_check

import numpy as np
from numba import float64, int64, void

from likely.core.compiled import const, inner, kernel


@inner
@no_type_check
def change_row(x, z, K, noise, S, M, s):  # noqa: C901, PLR0917
    """Add a row to the posterior of the loadings, or take it out where the noise is negative."""
    total = noise
    for a in range(K):
        s[a] = 0.0
        for b in range(K):
            if z[b] > 0.0:
                s[a] += S[a, b]
    for a in range(K):
        if z[a] > 0.0:
            total += s[a]
    for j in range(len(x)):
        gap = x[j]
        for a in range(K):
            if z[a] > 0.0:
                gap -= M[a, j]
        for a in range(K):
            M[a, j] += s[a] * gap / total
    for a in range(K):
        for b in range(K):
            S[a, b] -= s[a] * s[b] / total


@inner
@no_type_check
def remove_feature(k, K, Z, counts, S, M):  # noqa: PLR0917
    """Put the last feature in the place of feature k."""
    last = K - 1
    Z[:, k], counts[k], M[k] = Z[:, last], counts[last], M[last]
    S[k, :K] = S[last, :K]
    S[:K, k] = S[:K, last]
    S[k, k] = S[last, last]
    Z[:, last] = 0.0


@kernel(
    int64(
        const(float64, 2), int64, int64, const(float64, 2), const(float64, 1), float64,
        float64, float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1],
        int64[::1],
    )
)  # fmt: skip
@no_type_check
def sweep(X, first, K, U, new, noise, loading, Z, counts, S, M, size):  # noqa: C901, PLR0917
    """Draw the features of each row given those of all others.

    Args:
        X: (n, d) rows.
        first: the row to begin with.
        K: the number of features.
        U: (n, m + 1) random numbers from 0 to 1.
        new: (J,) the prior log-probability of 0, 1, ... features of a row's own.
        noise: σ_x².
        loading: σ_a².
        Z: (n, m) the features of rows.
        counts: (m,) how many rows have each.
        S: (m, m) Σ.
        M: (m, d) the means of the loadings.
        size: (1,) filled with the number of features.

    Returns:
        The row at which there was no room for more features, or n.
    """
    (n, d), m = X.shape, len(counts)
    s, r, weights = np.empty(m), np.empty(d), np.empty(len(new))
    for i in range(first, n):
        if K + len(new) > m:
            size[0] = K
            return i
        x, z = X[i], Z[i]
        change_row(x, z, K, -noise, S, M, s)
        own = 0.0  # features of this row alone: they only add to the variance
        for k in range(K - 1, -1, -1):
            counts[k] -= z[k]
            if counts[k] < 0.5:
                remove_feature(k, K, Z, counts, S, M)
                K -= 1
                own += loading
        v = noise + own
        r[:] = x
        for a in range(K):
            s[a] = 0.0
            for b in range(K):
                s[a] += z[b] * S[a, b]
            v += z[a] * s[a]
            for j in range(d):
                r[j] -= z[a] * M[a, j]
        for k in range(K):
            sign = 1.0 - 2.0 * z[k]  # of the change of z_k
            other = v + 2.0 * sign * s[k] + S[k, k]
            here, there = 0.0, 0.0
            for j in range(d):
                here += r[j] * r[j]
                there += (r[j] - sign * M[k, j]) ** 2
            gain = 0.5 * (d * np.log(v / other) + here / v - there / other)
            gain += sign * np.log(counts[k] / (n - counts[k]))
            if U[i, k] * (1.0 + np.exp(-gain)) < 1.0:
                z[k], v = 1.0 - z[k], other
                for a in range(K):
                    s[a] += sign * S[a, k]
                for j in range(d):
                    r[j] -= sign * M[k, j]
        square = 0.0
        for j in range(d):
            square += r[j] * r[j]
        for j in range(len(new)):
            other = v - own + j * loading
            weights[j] = new[j] - 0.5 * (d * np.log(other) + square / other)
        weights = np.exp(weights - weights.max())
        place, more = U[i, m] * weights.sum(), 0
        while more < len(new) - 1 and place >= weights[more]:
            place -= weights[more]
            more += 1
        for a in range(K, K + more):
            S[a, : K + more], S[: K + more, a], M[a] = 0.0, 0.0, 0.0
            S[a, a], z[a], counts[a] = loading, 1.0, 0.0
        K += more
        change_row(x, z, K, noise, S, M, s)
        for k in range(K):
            counts[k] += z[k]
    size[0] = K
    return n


@inner
@no_type_check
def log_pattern(x, z, prior, noise, S, M, r):  # noqa: PLR0917
    """log p(x, z), up to a constant."""
    K, d = M.shape
    v, total = noise, 0.0
    r[:] = x
    for a in range(K):
        total += z[a] * prior[a]
        if z[a] > 0.0:
            for j in range(d):
                r[j] -= M[a, j]
            for b in range(K):
                v += z[b] * S[a, b]
    square = 0.0
    for j in range(d):
        square += r[j] * r[j]
    return total - 0.5 * (d * np.log(v) + square / v)


@kernel(
    void(
        const(float64, 2), const(float64, 1), float64, const(float64, 2),
        const(float64, 2), int64, int64, float64[:, ::1],
    )
)  # fmt: skip
@no_type_check
def likeliest(X, prior, noise, S, M, first, last, Z):  # noqa: PLR0917
    """Fill Z with patterns that no change of one or two features makes likelier."""
    K = len(prior)
    r, z = np.empty(X.shape[1]), np.empty(K)
    for i in range(first, last):
        z[:] = 0.0
        best = log_pattern(X[i], z, prior, noise, S, M, r)
        while True:
            found, at, other = best + 1e-9, -1, -1
            for a in range(K):
                for b in range(a, K):
                    z[a] = 1.0 - z[a]
                    if b != a:
                        z[b] = 1.0 - z[b]
                    value = log_pattern(X[i], z, prior, noise, S, M, r)
                    if value > found:
                        found, at, other = value, a, b
                    z[a] = 1.0 - z[a]
                    if b != a:
                        z[b] = 1.0 - z[b]
            if at < 0:
                break
            best, z[at] = found, 1.0 - z[at]
            if other != at:
                z[other] = 1.0 - z[other]
        Z[i] = z
