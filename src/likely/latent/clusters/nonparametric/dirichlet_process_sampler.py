r"""Gibbs sampling of partitions with normal clusters, and the clusters that a partition makes.

The prior of a cluster is normal-inverse-Wishart: $Σ \sim W^{-1}(Ψ, ν)$ and $μ \mid Σ \sim
N(m, Σ/κ)$. The prior of α is Gamma(a, b), drawn with the auxiliary variable of Escobar and West.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, multigammaln  # pyright: ignore

from likely.core.threads import row_blocks, thread_map
from likely.latent.clusters.nonparametric.chinese_restaurant import ChineseRestaurant
from likely.latent.clusters.nonparametric.dirichlet_process_kernel import (
    add_scatter,
    log_student,
    sweep,
)

BLOCKS = 8
FIRST_CLUSTERS = 16
"""Room for clusters at the start; it is doubled where it is not enough."""


class NormalWishart(NamedTuple):
    """The normal-inverse-Wishart prior of the mean and covariance of a cluster."""

    mean: np.ndarray
    kappa: float
    nu: float
    factor: np.ndarray
    """(d, d) lower triangular, with Ψ = factor·factorᵀ."""

    @property
    def stacked(self) -> np.ndarray:
        """(1 + d, d) the mean and the factor, as the kernel takes them."""
        return np.ascontiguousarray(np.vstack([self.mean, self.factor]))

    def constants(self, counts: np.ndarray) -> np.ndarray:
        """C of clusters with so many rows: what does not depend on their Ψ and x."""
        d, kappa, nu = len(self.mean), self.kappa + counts, self.nu + counts
        ratio = gammaln(0.5 * (nu + 1)) - gammaln(0.5 * (nu - d + 1))
        return ratio - 0.5 * d * np.log(np.pi * (kappa + 1) / kappa)

    def log_evidence(self, clusters: "Clusters") -> float:
        """log p(X | partition), with means and covariances integrated out."""
        d, n = len(self.mean), clusters.counts
        kappa, nu = self.kappa + n, self.nu + n
        first = 0.5 * self.nu * _log_det(self.factor[None]) - multigammaln(
            0.5 * self.nu, d
        )
        own = multigammaln(0.5 * nu, d) - 0.5 * nu * _log_det(clusters.factors)
        shrink = 0.5 * d * np.log(self.kappa / kappa) - 0.5 * d * n * np.log(np.pi)
        return float((first + own + shrink).sum())

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A mean, and a factor of a covariance."""
        return draw_normal(self.mean, self.factor, self.kappa, self.nu, rng)


def draw_normal(
    mean: np.ndarray,
    factor: np.ndarray,
    kappa: float,
    nu: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """μ, and F with Σ = F Fᵀ, from a normal-inverse-Wishart distribution (Bartlett)."""
    d = len(mean)
    B = np.tril(rng.normal(size=(d, d)), -1)
    B[np.diag_indices(d)] = np.sqrt(rng.chisquare(nu - np.arange(d)))
    F = np.linalg.solve(B, factor.T).T  # Σ⁻¹ = (factor⁻ᵀ B)(factor⁻ᵀ B)ᵀ
    return mean + F @ rng.normal(size=d) / np.sqrt(kappa), F


class Clusters(NamedTuple):
    """The clusters of a partition: their sizes, posterior means, and factors of Ψ."""

    counts: Int[np.ndarray, " k"]
    means: Float[np.ndarray, "k d"]
    factors: Float[np.ndarray, "k d d"]


class Partition(NamedTuple):
    """The state of the sampler."""

    z: Int[np.ndarray, " n"]
    """The cluster of each row, 0, 1, ...; −1 where it is in none yet."""
    clusters: Clusters
    alpha: float

    @classmethod
    def empty(cls, n: int, d: int, alpha: float) -> "Partition":
        """No row is in a cluster."""
        none = Clusters(np.zeros(0, np.int64), np.zeros((0, d)), np.zeros((0, d, d)))
        return cls(np.full(n, -1, np.int64), none, alpha)


def gibbs_sweep(
    at: Partition, X: np.ndarray, prior: NormalWishart, rng: np.random.Generator
) -> Partition:
    """Draw the cluster of each row in turn, given those of all others.

    Args:
        at: the partition before.
        X: (n, d) rows.
        prior: of the clusters.
        rng: draws the clusters.
    """
    (n, d), old = X.shape, at.clusters
    room = max(FIRST_CLUSTERS, 2 * len(old.counts))
    counts, means = np.zeros(room, np.int64), np.zeros((room, d))
    factors, z = np.tile(np.eye(d), (room, 1, 1)), at.z.copy()
    if len(old.counts):
        counts[: len(old.counts)] = old.counts
        means[: len(old.counts)], factors[: len(old.counts)] = old.means, old.factors
    u, C, stacked = rng.random(n), prior.constants(np.arange(n + 1)), prior.stacked
    done = 0
    while True:
        done = sweep(
            X, done, u, float(at.alpha), stacked, prior.kappa, prior.nu, C, z, counts,
            means, factors,
        )  # fmt: skip
        if done == n:
            return Partition(*clusters_of(z, X, prior), at.alpha)
        counts = np.concatenate([counts, np.zeros_like(counts)])
        means = np.concatenate([means, np.zeros_like(means)])
        factors = np.concatenate([factors, np.tile(np.eye(d), (len(factors), 1, 1))])


def clusters_of(
    labels: np.ndarray, X: np.ndarray, prior: NormalWishart
) -> tuple[np.ndarray, Clusters]:
    """Labels 0, 1, ... of a partition, and its clusters computed from their rows."""
    _, z, counts = np.unique(labels, return_inverse=True, return_counts=True)
    z, K = z.astype(np.int64), len(counts)
    sums = np.stack([np.bincount(z, x, minlength=K) for x in X.T], 1)
    centres, kappa = sums / counts[:, None], prior.kappa + counts
    gaps = centres - prior.mean
    means = prior.mean + gaps * (counts / kappa)[:, None]
    between = gaps * np.sqrt(prior.kappa * counts / kappa)[:, None]
    S = prior.factor @ prior.factor.T + between[:, :, None] * between[:, None]
    add_scatter(X, z, centres, S)  # the factor is made of what is below the diagonal
    return z, Clusters(counts.astype(np.int64), means, np.linalg.cholesky(S))


def draw_alpha(
    at: Partition, a: float, b: float, rng: np.random.Generator
) -> Partition:
    """Draw α given the number of clusters, with the prior Gamma(a, b)."""
    n, K = len(at.z), len(at.clusters.counts)
    rate = b - np.log(rng.beta(at.alpha + 1.0, n))
    more = rng.random() * (a + K - 1 + n * rate) < a + K - 1
    return at._replace(alpha=float(rng.gamma(a + K - (0 if more else 1)) / rate))


def log_joint(at: Partition, prior: NormalWishart) -> float:
    """log p(partition | α) + log p(X | partition)."""
    return ChineseRestaurant(at.alpha).log_prob(at.z) + prior.log_evidence(at.clusters)


def log_predictive(
    X: np.ndarray, clusters: Clusters, prior: NormalWishart, workers: int = 1
) -> np.ndarray:
    """(n, k) the log-density of a new row in each cluster."""
    kappa = prior.kappa + clusters.counts
    constants = prior.constants(clusters.counts) - 0.5 * _log_det(clusters.factors)
    powers, ratios = 0.5 * (prior.nu + clusters.counts + 1.0), kappa / (kappa + 1.0)
    out = np.empty((len(X), len(kappa)))
    means, factors = (np.ascontiguousarray(a) for a in clusters[1:])
    thread_map(
        lambda part: log_student(
            X, means, factors, constants, powers, ratios, *part, out
        ),
        row_blocks(len(X), BLOCKS),
        workers,
    )
    return out


def _log_det(factors: np.ndarray) -> np.ndarray:
    """log |Ψ| of factors."""
    return 2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(1)
