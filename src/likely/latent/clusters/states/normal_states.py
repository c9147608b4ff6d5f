r"""Normal emissions of a hidden Markov model: $x_t \mid z_t = j \sim N(μ_j, Σ_j)$.

The covariance of largest likelihood among those with $Σ \succeq ε\, D$, where D has the
variances of all positions on its diagonal, is that of the data with the eigenvalues of
$D^{-1/2} Σ D^{-1/2}$ raised to at least ε. So no state can collapse to a point, and every
step of EM is an exact maximum.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numba import float64, int64, void

from likely.core.compiled import const, kernel
from likely.core.threads import row_blocks, thread_map
from likely.latent.clusters.states.kernel import FAST

BLOCKS = 8
"""Parts of the positions; their sums are added in order, at any number of threads."""


@kernel(
    void(
        const(float64, 2), const(float64, 2), const(float64, 3), const(float64, 1),
        int64, int64, float64[:, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def log_densities(X, means, W, constants, first, last, L):  # noqa: PLR0917
    """Fill rows of L with constant_j − |W_j (x − μ_j)|²/2; 0 where x is missing."""
    k, d = means.shape
    gap = np.empty(d)
    for i in range(first, last):
        for j in range(k):
            total = 0.0
            for r in range(d):
                gap[r] = X[i, r] - means[j, r]
                z = 0.0
                for c in range(r + 1):
                    z += W[j, r, c] * gap[c]
                total += z * z
            L[i, j] = constants[j] - 0.5 * total


@kernel(
    void(
        const(float64, 2), const(float64, 2), const(float64, 2), int64, int64,
        float64[::1], float64[:, ::1], float64[:, :, ::1],
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def add_moments(X, G, means, first, last, counts, sums, squares):  # noqa: PLR0917
    """Add the weighted moments of x − μ_j of some rows."""
    k, d = means.shape
    gap = np.empty(d)
    for i in range(first, last):
        for j in range(k):
            g = G[i, j]
            if g > 0.0:
                counts[j] += g
                for r in range(d):
                    gap[r] = X[i, r] - means[j, r]
                    sums[j, r] += g * gap[r]
                    for c in range(r + 1):
                        squares[j, r, c] += g * gap[r] * gap[c]


class NormalStates(NamedTuple):
    """The means and covariances of k states, and the least variance of each column."""

    means: np.ndarray
    covariances: np.ndarray
    """(k, d, d)"""
    floor: np.ndarray
    """(d,) the diagonal of ε D."""
    full: bool

    @classmethod
    def overall(
        cls, X: np.ndarray, w: np.ndarray, k: int, settings: Any
    ) -> "NormalStates":
        """The moments of all rows, for each of k states."""
        centre = w @ X / w.sum()
        variance = w @ (X - centre) ** 2 / w.sum()
        tiny = (1e-8 * np.maximum(np.abs(centre), 1e-8)) ** 2
        floor = np.maximum(settings.min_variance * variance, tiny)
        covariance = np.diag(np.maximum(variance, floor))
        full = settings.covariance_type == "full"
        return cls(np.tile(centre, (k, 1)), np.tile(covariance, (k, 1, 1)), floor, full)

    def log_prob(self, X: np.ndarray, workers: int = 1) -> np.ndarray:
        """(positions, k) log p(x | z = j)."""
        k, d = self.means.shape
        lower = np.linalg.cholesky(self.covariances)
        W = np.ascontiguousarray(np.linalg.inv(lower))
        logs = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(1)
        constants, L = -0.5 * d * np.log(2 * np.pi) - logs, np.empty((len(X), k))
        thread_map(
            lambda part: log_densities(X, self.means, W, constants, *part, L),
            row_blocks(len(X), BLOCKS),
            workers,
        )
        return L

    def maximum(self, X: np.ndarray, G: np.ndarray, workers: int = 1) -> "NormalStates":
        """The states of largest likelihood for rows of weights G; without weight, as before."""
        (k, d), parts = self.means.shape, row_blocks(len(X), BLOCKS)
        counts = np.zeros((BLOCKS, k))
        sums, squares = np.zeros((BLOCKS, k, d)), np.zeros((BLOCKS, k, d, d))

        def add(b: int) -> None:
            own = counts[b], sums[b], squares[b]
            add_moments(X, G, self.means, *parts[b], *own)

        thread_map(add, range(BLOCKS), workers)
        total = counts.sum(0)
        seen = total > 1e-10 * total.sum()
        n = np.where(seen, total, 1.0)
        shift, square = sums.sum(0) / n[:, None], squares.sum(0) / n[:, None, None]
        square = np.tril(square) + np.tril(square, -1).transpose(0, 2, 1)
        found = self._raised(square - shift[:, :, None] * shift[:, None])
        means = np.where(seen[:, None], self.means + shift, self.means)
        covariances = np.where(seen[:, None, None], found, self.covariances)
        return self._replace(means=means, covariances=covariances)

    def _raised(self, covariances: np.ndarray) -> np.ndarray:
        """The nearest covariances in likelihood that are at least the floor."""
        if not self.full:
            diagonal = np.diagonal(covariances, axis1=1, axis2=2)
            return np.maximum(diagonal, self.floor)[:, :, None] * np.eye(
                len(self.floor)
            )
        scale = np.sqrt(self.floor)
        values, U = np.linalg.eigh(covariances / np.outer(scale, scale))
        low = values.min(1) < 1.0
        raised = (U * np.maximum(values, 1.0)[:, None]) @ U.transpose(0, 2, 1)
        raised = raised * np.outer(scale, scale)
        return np.where(low[:, None, None], raised, covariances)

    def draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(n, d) an observation for each of some states."""
        lower = np.linalg.cholesky(self.covariances)
        z = rng.normal(size=(len(states), self.means.shape[1]))
        return self.means[states] + np.einsum("nij,nj->ni", lower[states], z)
