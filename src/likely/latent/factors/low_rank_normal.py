r"""Normal distributions whose covariance is a few factors and independent noise.

$$x = μ + W z + ε, \quad z \sim N(0, I), \quad ε \sim N(0, \operatorname{diag} ψ), \qquad
  x \sim N(μ,\; A = W W^\top + \operatorname{diag} ψ).$$

With $M = I + W^\top ψ^{-1} W$, of the size of z alone,

$$A^{-1} = ψ^{-1} - ψ^{-1} W M^{-1} W^\top ψ^{-1}, \qquad \det A = \det M \prod_j ψ_j, \qquad
  z \mid x \sim N(M^{-1} W^\top ψ^{-1} (x - μ),\; M^{-1}),$$

and where values of x are missing (NaN) the sums are over those that are there.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

LOG_2PI = float(np.log(2 * np.pi))
MAX_NUMBERS = 2**23
"""Numbers that the matrices M of a block of rows with missing values may take."""


class LowRankNormal(NamedTuple):
    """The normal distribution N(μ, W Wᵀ + diag ψ)."""

    mean: Float[np.ndarray, " d"]
    W: Float[np.ndarray, "d k"]
    psi: Float[np.ndarray, " d"]

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """The matrix A of size (d, d)."""
        return self.W @ self.W.T + np.diag(self.psi)

    def log_prob(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """log p(x) of each row; of the values that are there, where some are missing."""
        return self.given(X)[0]

    def posterior_mean(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """E[z | x] of each row."""
        return self.given(X)[1]

    def posterior_covariance(self) -> Float[np.ndarray, "k k"]:
        """The covariance of z given a row without missing values: the same for all rows."""
        M = np.eye(self.W.shape[1]) + self.W.T @ (self.W / self.psi[:, None])
        return np.linalg.inv(M)

    def given(
        self, X: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n k"]]:
        """log p(x) and E[z | x] of each row."""
        there = ~np.isnan(X)
        complete = there.all(1)
        if complete.all():
            return self._complete(X)
        log_prob, z = np.empty(len(X)), np.empty((len(X), self.W.shape[1]))
        if complete.any():
            log_prob[complete], z[complete] = self._complete(X[complete])
        for rows in blocks(np.flatnonzero(~complete), self.W.shape[1]):
            log_prob[rows], z[rows] = self._incomplete(X[rows], there[rows])
        return log_prob, z

    def _complete(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p(x) and E[z | x] of rows without missing values."""
        d, k = self.W.shape
        scaled = self.W / self.psi[:, None]
        L = np.linalg.cholesky(np.eye(k) + self.W.T @ scaled)
        R = X - self.mean
        T = R @ scaled
        half = np.linalg.solve(L, T.T)
        log_det = 2 * np.log(np.diag(L)).sum() + np.log(self.psi).sum()
        square = np.einsum("ij,ij,j->i", R, R, 1 / self.psi) - (half**2).sum(0)
        z = np.linalg.solve(L.T, half).T
        return -0.5 * (d * LOG_2PI + log_det + square), z

    def _incomplete(
        self, X: np.ndarray, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """log p(x) and E[z | x] of rows with missing values."""
        mask, M = there.astype(float), self._precisions(there)
        R = np.where(there, X - self.mean, 0.0)
        T = R @ (self.W / self.psi[:, None])
        z = np.linalg.solve(M, T[..., None])[..., 0]
        log_det = np.linalg.slogdet(M)[1] + mask @ np.log(self.psi)
        square = R**2 @ (1 / self.psi) - (T * z).sum(1)
        return -0.5 * (mask.sum(1) * LOG_2PI + log_det + square), z

    def posterior_covariances(
        self, there: Bool[np.ndarray, "n d"]
    ) -> Float[np.ndarray, "n k k"]:
        """The covariances of z, given the values that are there."""
        return np.linalg.inv(self._precisions(there))

    def _precisions(self, there: np.ndarray) -> np.ndarray:
        """The matrix M of each set of values that are there."""
        k = self.W.shape[1]
        scaled = self.W / self.psi[:, None]
        pairs = (self.W[:, :, None] * scaled[:, None]).reshape(-1, k * k)
        return np.eye(k) + (there.astype(float) @ pairs).reshape(-1, k, k)

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Independent rows, drawn from the distribution."""
        d, k = self.W.shape
        noise = rng.normal(size=(n, d)) * np.sqrt(self.psi)
        return self.mean + rng.normal(size=(n, k)) @ self.W.T + noise

    def filled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Rows whose missing values are what is expected of them, given the others."""
        missing = np.isnan(X)
        if not missing.any():
            return X
        return np.where(missing, self.mean + self.posterior_mean(X) @ self.W.T, X)


def blocks(rows: np.ndarray, k: int) -> list[np.ndarray]:
    """Row numbers in blocks whose matrices of size (k, k) fit in memory."""
    size = max(1, MAX_NUMBERS // (k * k + 1))
    return [rows[i : i + size] for i in range(0, len(rows), size)]
