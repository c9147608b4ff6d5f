r"""Gibbs sampling of the linear-Gaussian model of an Indian buffet: X = ZA + noise."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import poisson

from likely.latent.clusters.nonparametric.indian_buffet import IndianBuffet, harmonic
from likely.latent.clusters.nonparametric.indian_buffet_kernel import sweep

FIRST_FEATURES = 16
LEAST_TAIL = 1e-12
"""The prior probability of more features of a row's own than are considered."""


class Features(NamedTuple):
    """The state of the sampler: features of rows, α, σ_x² and σ_a²."""

    Z: Float[np.ndarray, "n k"]
    alpha: float
    noise: float
    loading: float


def loadings(
    at: Features, X: np.ndarray
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, "k d"]]:
    """The covariance Σ and the mean M of the loadings, given the features."""
    K = at.Z.shape[1]
    precision = at.Z.T @ at.Z / at.noise + np.eye(K) / at.loading
    S = np.linalg.inv(precision)
    S = 0.5 * (S + S.T)
    return S, S @ np.einsum("nk,nd->kd", at.Z, X) / at.noise


def gibbs_sweep(at: Features, X: np.ndarray, rng: np.random.Generator) -> Features:
    """Draw the features of each row in turn, given those of all others."""
    (n, d), K = X.shape, at.Z.shape[1]
    rate = at.alpha / n
    J = int(poisson.isf(LEAST_TAIL, rate)) + 4
    new = poisson.logpmf(np.arange(J), rate)
    room = max(FIRST_FEATURES, 2 * (K + J))
    Z, S, M = np.zeros((n, room)), np.zeros((room, room)), np.zeros((room, d))
    Z[:, :K], (S[:K, :K], M[:K]) = at.Z, loadings(at, X)
    counts, size, done = Z.sum(0), np.array([K]), 0
    while True:
        U = rng.random((n, room + 1))
        done = sweep(
            X, done, int(size[0]), U, new, at.noise, at.loading, Z, counts, S, M, size
        )
        if done == n:
            Z = Z[:, : int(size[0])]
            return at._replace(Z=np.ascontiguousarray(Z[:, Z.any(0)]))
        Z, M = np.hstack([Z, np.zeros_like(Z)]), np.vstack([M, np.zeros_like(M)])
        S, counts = np.pad(S, (0, room)), np.pad(counts, (0, room))
        room *= 2


def draw_settings(
    at: Features,
    X: np.ndarray,
    rng: np.random.Generator,
    priors: tuple[float, float, float] = (1.0, 1.0, 0.01),
) -> Features:
    """Draw α, σ_x² and σ_a², given the features and loadings that are drawn for it.

    Args:
        at: the features.
        X: (n, d) rows.
        rng: of the draws.
        priors: (a, b, c): α is Gamma(a, b), σ_a² inverse Gamma(a, b), σ_x² inverse
            Gamma(a, c).
    """
    (n, d), K, (a, b, c) = X.shape, at.Z.shape[1], priors
    alpha = rng.gamma(a + K) / (b + harmonic(n))
    S, M = loadings(at, X)
    A = M + np.linalg.cholesky(S) @ rng.normal(size=(K, d)) if K else M
    rest = ((X - np.einsum("nk,kd->nd", at.Z, A)) ** 2).sum()
    noise = (c + 0.5 * rest) / rng.gamma(a + 0.5 * n * d)
    loading = (b + 0.5 * (A**2).sum()) / rng.gamma(a + 0.5 * K * d)
    return Features(at.Z, float(alpha), float(noise), float(loading))


def log_joint(at: Features, X: np.ndarray) -> float:
    """log p(Z | α) + log p(X | Z, σ_x², σ_a²), with the loadings integrated out."""
    (n, d), K = X.shape, at.Z.shape[1]
    S, M = loadings(at, X)
    fitted = (X * (X - np.einsum("nk,kd->nd", at.Z, M))).sum() / at.noise
    size = n * np.log(2 * np.pi * at.noise) + K * np.log(at.loading)
    size -= np.linalg.slogdet(S)[1]
    return IndianBuffet(at.alpha).log_prob(at.Z) - 0.5 * float(d * size + fitted)
