r"""The Laplace family: absolute loss and medians."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.rows import weighted_mean
from likely.families.links import fixed
from likely.families.location_scale import AbstractLocationScale
from likely.families.weighted import weighted_median


class Laplace(AbstractLocationScale):
    r"""Laplace(μ, b): $-\log p = \log 2b + |y-μ| / b$; variance $2b^2$.

    `Laplace(scale=1.0)` fixes b, η = (μ): absolute loss in nats. `Laplace()` has
    η = (μ, log b). As a prior on a weight, b = 1/λ is the penalty λ|t|. At y = μ
    the gradient is the subgradient 0.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Laplace(1.0), np.zeros((1, 1)))
        >>> print(dist.std.round(3), dist.quantile(0.95).round(2))
        [1.414] [2.3]
    """

    scale: np.ndarray | None

    def __init__(self, scale: float | int | None = None):
        self.scale = fixed(scale, "scale")

    def distribution(self, **theta: Any) -> distributions.Laplace:
        """NumPyro's Laplace distribution."""
        return distributions.Laplace(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The weighted median, and the mean absolute deviation from it."""
        loc = weighted_median(y, w)
        deviation = weighted_mean(jnp.abs(y - loc), w)
        tiny = jnp.sqrt(jnp.finfo(deviation.dtype).tiny)
        return self.eta(loc=loc, scale=jnp.maximum(deviation, tiny))

    def log_density(self, z: Array, log_scale: Array) -> Float[Array, "*n"]:
        """−log 2b − |z|."""
        return -log_scale - jnp.log(2.0) - jnp.sign(z) * z  # jnp.abs has slope 1 at 0

    def standard_cdf(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """½ e^z below the median, 1 − ½ e^−z above."""
        tail = 0.5 * jnp.exp(-jnp.abs(z))
        return jnp.where(z > 0, 1 - tail, tail)

    def standard_quantile(self, q: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """log 2q below the median, −log 2(1 − q) above."""
        distance = jnp.log(2 * jnp.minimum(q, 1 - q))
        return jnp.where(q > 0.5, -distance, distance)
