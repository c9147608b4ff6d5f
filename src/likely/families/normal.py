r"""The normal family: fixed, shared or modelled scale."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import HALF_LOG_2PI
from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.links import column, fixed, log_positive, positive, stack


class Normal(AbstractFamily):
    r"""The normal N(μ, σ²): $-\log p = \log σ + \tfrac12\log 2π + (y-μ)^2 / (2σ^2)$.

    `Normal(scale=1.0)` fixes σ, η = (μ): squared loss in nats. `Normal()` has
    η = (μ, log σ): give the model two outputs for heteroscedastic regression, or
    wrap a one-output model in `models.Shared` to learn one σ for all rows.
    """

    scale: np.ndarray | None
    needs: ClassVar[str] = "finite numbers"
    remedy: ClassVar[str] = "Remove or impute the row."

    def __init__(self, scale: float | int | None = None):
        self.scale = fixed(scale, "scale")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed scale, else 2."""
        return 2 if self.scale is None else 1

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean and the standard deviation."""
        return {"loc": eta[..., 0], "scale": positive(eta, 1, self.scale)}

    def eta(self, *, loc: Any, scale: Any = None) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log σ."""
        return stack(loc, column(scale) if self.scale is None else None)

    def distribution(self, **theta: Any) -> distributions.Normal:
        """NumPyro's normal distribution."""
        return distributions.Normal(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The weighted mean, and the standard deviation about it (1/n)."""
        loc = weighted_mean(y, w)
        variance = weighted_mean((y - loc) ** 2, w)
        tiny = jnp.finfo(variance.dtype).tiny
        return self.eta(loc=loc, scale=jnp.sqrt(jnp.maximum(variance, tiny)))

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = −log σ − ½ log 2π − z²/2, where z = (y − μ)/σ."""
        log_scale = log_positive(eta, 1, self.scale)
        z = (y - eta[..., 0]) * jnp.exp(-log_scale)
        return -log_scale - HALF_LOG_2PI - 0.5 * z**2

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf Φ(z)."""
        return ndtr((y - eta[..., 0]) / positive(eta, 1, self.scale))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile μ + σ Φ⁻¹(q)."""
        return eta[..., 0] + positive(eta, 1, self.scale) * ndtri(q)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]
