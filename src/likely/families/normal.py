r"""The normal family: fixed, shared or modelled scale."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import HALF_LOG_2PI
from likely.core.rows import weighted_mean
from likely.families.links import fixed
from likely.families.location_scale import AbstractLocationScale


class Normal(AbstractLocationScale):
    r"""The normal N(μ, σ²): $-\log p = \log σ + \tfrac12\log 2π + (y-μ)^2 / (2σ^2)$.

    `Normal(scale=1.0)` fixes σ, η = (μ): squared loss in nats. `Normal()` has
    η = (μ, log σ): give the model two outputs for heteroscedastic regression, or
    wrap a one-output model in `models.Shared` to learn one σ for all rows.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(2.0), np.zeros((1, 1)))
        >>> print(dist.mean, dist.interval(0.9)[1].round(2))
        [0.] [3.29]
    """

    scale: np.ndarray | None
    power: ClassVar[int] = 2

    def __init__(self, scale: float | int | None = None):
        self.scale = fixed(scale, "scale")

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

    def log_density(self, z: Array, log_scale: Array) -> Float[Array, "*n"]:
        """−log σ − ½ log 2π − z²/2."""
        return -log_scale - HALF_LOG_2PI - 0.5 * z**2

    def standard_cdf(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Φ(z)."""
        return ndtr(z)

    def standard_quantile(self, q: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Φ⁻¹(q)."""
        return ndtri(q)
