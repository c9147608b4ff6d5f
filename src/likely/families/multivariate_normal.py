r"""The multivariate normal family: one joint density for several outputs."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.core.numerics import (
    HALF_LOG_2PI,
    bounded,
    largest,
    unbounded,
)
from likely.core.rows import weighted_mean
from likely.families.counts import count_of
from likely.families.family import AbstractFamily


class MultivariateNormal(AbstractFamily):
    r"""The normal N(μ, Σ) in d dimensions, Σ diagonal or full.

    $$-\log p = \tfrac d2 \log 2π + \tfrac12 \log\det Σ
      + \tfrac12 (y-μ)^\top Σ^{-1} (y-μ).$$

    η = (μ, log diag L) with Σ = L Lᵀ, and for a full Σ also the entries of W = L⁻¹
    below its diagonal, row by row. W whitens: z = W(y − μ) is standard normal, so the
    density needs a product and no solve, and the diagonal case is the full one at 0.
    `cdf` and `quantile` are those of each output on its own.

    Examples:
        >>> lk.families.MultivariateNormal(2).n_eta  # two means, three numbers of the covariance
        5
    """

    n_outputs: int = eqx.field(static=True)
    full: bool = eqx.field(static=True)
    multivariate: ClassVar[bool] = True
    remedy: ClassVar[str] = "Remove or impute the row."

    def __init__(self, n_outputs: int, covariance: str = "full"):
        if covariance not in ("full", "diagonal"):
            raise InputError(
                f'covariance is {covariance!r}; give "full" or "diagonal".'
            )
        self.n_outputs = count_of(n_outputs, "n_outputs")
        self.full = covariance == "full"

    @property
    def n_eta(self) -> int:
        """The length of η: 2d, and d(d−1)/2 more for a full covariance."""
        d = self.n_outputs
        return 2 * d + (d * (d - 1) // 2 if self.full else 0)

    @property
    def needs(self) -> str:
        """What y has to be: one finite number for each output."""
        return f"{self.n_outputs} finite numbers"

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean, and L with Σ = L Lᵀ."""
        whiten = self._whiten(eta)
        identity = jnp.broadcast_to(jnp.eye(self.n_outputs), whiten.shape)
        L = solve_triangular(whiten, identity.astype(eta.dtype), lower=True)
        return {"loc": eta[..., : self.n_outputs], "scale_tril": L}

    def eta(self, *, loc: Any, scale_tril: Any) -> Float[Array, "*n k"]:
        """The columns μ, log diag L, and the entries of L⁻¹ below its diagonal."""
        loc, L = jnp.asarray(loc), jnp.asarray(scale_tril)
        logs = unbounded(jnp.log(jnp.diagonal(L, axis1=-2, axis2=-1)))
        identity = jnp.broadcast_to(jnp.eye(self.n_outputs, dtype=L.dtype), L.shape)
        whiten = solve_triangular(L, identity, lower=True)
        below = whiten[..., *jnp.tril_indices(self.n_outputs, -1)]
        return jnp.concatenate([loc, logs, below] if self.full else [loc, logs], -1)

    def distribution(self, **theta: Any) -> distributions.MultivariateNormal:
        """NumPyro's multivariate normal distribution."""
        return distributions.MultivariateNormal(**theta)

    def marginal(
        self, y: Num[Array, "n d"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The mean and the covariance (1/n), with a small ridge where it is singular."""
        loc = weighted_mean(y, w)
        centred = y - loc[None]
        covariance = (w[:, None] * centred).T @ centred / w.sum()
        variance = jnp.diagonal(covariance)
        finfo = jnp.finfo(variance.dtype)
        scale = jnp.sqrt(jnp.maximum(variance, finfo.tiny**0.5))
        ridge = 4 * self.n_outputs * finfo.eps * jnp.eye(self.n_outputs)
        correlation = covariance / jnp.outer(scale, scale)
        if not self.full:
            return self.eta(loc=loc, scale_tril=jnp.diag(scale))
        plain = jnp.linalg.cholesky(correlation)
        L = jnp.where(
            jnp.isfinite(plain).all(), plain, jnp.linalg.cholesky(correlation + ridge)
        )
        return self.eta(loc=loc, scale_tril=scale[:, None] * L)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.all(np.isfinite(y), axis=-1)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n d"]
    ) -> Float[Array, "*n"]:
        """log p = −½ d log 2π − Σ log diag L − ½ |W(y − μ)|²."""
        d = self.n_outputs
        gap = _limited(y - eta[..., :d], 2.2)  # so that products with W are finite
        z = _limited(jnp.einsum("...ij,...j->...i", self._whiten(eta), gap), 2.0)
        logs = bounded(eta[..., d : 2 * d])
        return -d * HALF_LOG_2PI - logs.sum(-1) - 0.5 * jnp.sum(z**2, -1)

    def cdf(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n d"]
    ) -> Float[Array, "*n d"]:
        """The cdf Φ((y_j − μ_j) / √Σ_jj) of each output."""
        return ndtr((y - eta[..., : self.n_outputs]) / self.scales(eta))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n d"]
    ) -> Float[Array, "*n d"]:
        """The quantile μ_j + √Σ_jj Φ⁻¹(q) of each output."""
        return eta[..., : self.n_outputs] + self.scales(eta) * ndtri(q)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n d"]:
        """The mode μ."""
        return eta[..., : self.n_outputs]

    def _whiten(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n d d"]:
        """The whitening matrix W = L⁻¹."""
        d = self.n_outputs
        diagonal = jnp.exp(-bounded(eta[..., d : 2 * d]))
        whiten = jnp.zeros((*eta.shape[:-1], d, d), eta.dtype)
        whiten = whiten.at[..., *jnp.diag_indices(d)].set(diagonal)
        if self.full:
            whiten = whiten.at[..., *jnp.tril_indices(d, -1)].set(eta[..., 2 * d :])
        return whiten

    def scales(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n d"]:
        """The standard deviation √Σ_jj of each output."""
        return jnp.sqrt(jnp.sum(self.theta(eta)["scale_tril"] ** 2, -1))


def _limited(z: Float[Array, "*n d"], power: float) -> Float[Array, "*n d"]:
    """z within the bounds in which its power is finite."""
    bound = largest(z, power)
    return jnp.clip(z, -bound, bound)
