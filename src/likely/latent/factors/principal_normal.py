r"""The density of probabilistic PCA, in its principal directions.

$$x \sim N\bigl(μ,\; V^\top \operatorname{diag}(λ)\, V + s^2 (I - V^\top V)\bigr)$$

has variance $λ_j$ along the k orthonormal rows $v_j$ of V and $s^2$ along every other direction:
with $z = V(x - μ)$,

$$-2 \log p(x) = d \log 2π + \sum_{j \le k} \Bigl(\log λ_j + \frac{z_j^2}{λ_j}\Bigr)
  + (d - k) \log s^2 + \frac{\lVert x - μ \rVert^2 - \lVert z \rVert^2}{s^2} .$$
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.latent.factors.low_rank_normal import LOG_2PI, LowRankNormal
from likely.latent.factors.spectrum import oriented

MIN_NOISE = 1e-12
"""The smallest s², as a share of the largest variance, where values are missing."""


class PrincipalNormal(NamedTuple):
    """A normal distribution with variances λ along V and s² in every other direction."""

    mean: Float[np.ndarray, " d"]
    components: Float[np.ndarray, "k d"]
    variances: Float[np.ndarray, " k"]
    noise: float

    @property
    def low_rank(self) -> LowRankNormal:
        """The same distribution as x = μ + Wz + ε."""
        k, d = self.components.shape
        noise = self.noise if k < d else float(self.variances.min())
        noise = max(noise, MIN_NOISE * self.variances.max(initial=0.0), 1e-300)
        rho = np.sqrt(np.maximum(self.variances - noise, 0.0))
        psi = np.full(len(self.mean), noise)
        return LowRankNormal(self.mean, self.components.T * rho, psi)

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """The covariance of a row."""
        V, gain = self.components, self.variances - self.noise
        return (V.T * gain) @ V + self.noise * np.eye(V.shape[1])

    def log_prob(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """log p(x) of each row; of the values that are there, where some are missing."""
        self.check_density()
        if np.isnan(X).any():
            return self.low_rank.log_prob(X)
        k, d = self.components.shape
        R = X - self.mean
        Z = R @ self.components.T
        square = (Z**2 / self.variances).sum(1)
        log_det = np.log(self.variances).sum()
        if k < d:
            rest = np.einsum("ij,ij->i", R, R) - np.einsum("ij,ij->i", Z, Z)
            square += np.maximum(rest, 0.0) / self.noise
            log_det += (d - k) * np.log(self.noise)
        return -0.5 * (d * LOG_2PI + log_det + square)

    def check_density(self) -> None:
        """Refuse a distribution without a density: one that is flat in some direction."""
        k, d = self.components.shape
        if (self.variances <= 0).any() or (k < d and self.noise <= 0):
            varied = int((self.variances > 0).sum())
            raise InputError(
                f"the rows vary in no more than {varied} of {d} directions, so that "
                f"{k} component{'s' * (k != 1)} leave no noise and there is no density; "
                f"give n_components of at most {max(varied - 1, 0)}, or more rows."
            )

    def sample(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Independent rows, drawn from the distribution."""
        V = self.components
        noise = np.sqrt(max(self.noise, 0.0)) * rng.normal(size=(n, V.shape[1]))
        own = rng.normal(size=(n, len(V))) * np.sqrt(self.variances)
        return self.mean + noise + (own - noise @ V.T) @ V


def principal_maximum(
    S: Float[np.ndarray, "d d"], k: int, minimum: float = 0.0
) -> PrincipalNormal:
    r"""The maximum-likelihood fit to a covariance, with mean zero.

    The k largest eigenvalues stay, and $s^2$ is the mean of the others.

    Args:
        S: the covariance.
        k: the number of components.
        minimum: the smallest variance.
    """
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values[::-1], minimum)
    noise = float(values[k:].mean()) if k < len(S) else 0.0
    components = oriented(vectors[:, ::-1].T[:k])
    return PrincipalNormal(np.zeros(len(S)), components, values[:k], noise)
