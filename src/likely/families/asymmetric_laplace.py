r"""The asymmetric Laplace family: pinball loss and quantiles."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.families.links import fixed
from likely.families.location_scale import AbstractLocationScale
from likely.families.weighted import weighted_quantile


class AsymmetricLaplace(AbstractLocationScale):
    r"""Exponential on both sides of μ, with the probability τ below it.

    $$-\log p = \log\frac{b}{2τ(1-τ)} + \frac{2 ρ_τ(y - μ)}{b}, \qquad
      ρ_τ(r) = \max(τ r, (τ - 1) r).$$

    μ is the τ-quantile, so maximum likelihood in μ is quantile regression; at τ = ½ it
    is the Laplace family. η = (μ, log b), or (μ) with b fixed by `scale`.

    Examples:
        >>> family = lk.families.AsymmetricLaplace(0.9, 1.0)
        >>> print(lk.families.Predictive(family, np.zeros((1, 1))).cdf(np.zeros(1)).round(2))
        [0.9]
    """

    tau: float = eqx.field(static=True)
    scale: np.ndarray | None

    def __init__(self, tau: float = 0.5, scale: float | int | None = None):
        if not 0 < tau < 1:
            raise InputError(f"tau is {tau}; give a number between 0 and 1.")
        self.tau = float(tau)
        self.scale = fixed(scale, "scale")

    def distribution(self, **theta: Any) -> distributions.AsymmetricLaplaceQuantile:
        """NumPyro's asymmetric Laplace distribution, whose scale is b/2."""
        half = theta["scale"] / 2
        return distributions.AsymmetricLaplaceQuantile(theta["loc"], half, self.tau)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The weighted quantile, and twice the mean pinball loss around it."""
        loc = weighted_quantile(y, w, self.tau)
        deviation = weighted_mean(self._pinball(y - loc), w)
        tiny = jnp.sqrt(jnp.finfo(deviation.dtype).tiny)
        return self.eta(loc=loc, scale=jnp.maximum(deviation, tiny))

    def log_density(self, z: Array, log_scale: Array) -> Float[Array, "*n"]:
        """log 2τ(1 − τ) − log b − 2ρ(z)."""
        return jnp.log(2 * self.tau * (1 - self.tau)) - log_scale - self._pinball(z)

    def standard_cdf(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """τ e^{−2ρ(z)} below zero, 1 − (1 − τ) e^{−2ρ(z)} above."""
        tail = jnp.exp(-self._pinball(z))
        return jnp.where(z > 0, 1 - (1 - self.tau) * tail, self.tau * tail)

    def standard_quantile(self, q: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The inverse of the cdf, side by side."""
        t = self.tau
        below = jnp.log(jnp.minimum(q / t, 1.0)) / (2 * (1 - t))
        above = -jnp.log(jnp.minimum((1 - q) / (1 - t), 1.0)) / (2 * t)
        return jnp.where(q > t, above, below)

    def _pinball(self, r: Array) -> Array:
        """2ρ(r), with the slope 2τ − 1 at 0."""
        return jnp.maximum(2 * self.tau * r, 2 * (self.tau - 1) * r)
