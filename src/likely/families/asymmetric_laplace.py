r"""The asymmetric Laplace family: pinball loss and quantiles."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.checks import InputError
from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.links import column, fixed, log_positive, positive, stack
from likely.families.weighted import weighted_quantile


class AsymmetricLaplace(AbstractFamily):
    r"""Exponential on both sides of μ, with the probability τ below it.

    $$-\log p = \log\frac{b}{2τ(1-τ)} + \frac{2 ρ_τ(y - μ)}{b}, \qquad
      ρ_τ(r) = \max(τ r, (τ - 1) r).$$

    μ is the τ-quantile, so maximum likelihood in μ is quantile regression; at τ = ½ it
    is the Laplace family. η = (μ, log b), or (μ) with b fixed by `scale`.
    """

    tau: float = eqx.field(static=True)
    scale: np.ndarray | None
    needs: ClassVar[str] = "finite numbers"
    remedy: ClassVar[str] = "Remove or impute the row."

    def __init__(self, tau: float = 0.5, scale: float | int | None = None):
        if not 0 < tau < 1:
            raise InputError(f"tau is {tau}; give a number between 0 and 1.")
        self.tau = float(tau)
        self.scale = fixed(scale, "scale")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed scale, else 2."""
        return 2 if self.scale is None else 1

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The τ-quantile μ and the scale b."""
        return {"loc": eta[..., 0], "scale": positive(eta, 1, self.scale)}

    def eta(self, *, loc: Any, scale: Any = None) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log b."""
        return stack(loc, column(scale) if self.scale is None else None)

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

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log 2τ(1 − τ) − log b − 2ρ(y − μ)/b."""
        log_scale = log_positive(eta, 1, self.scale)
        z = (y - eta[..., 0]) * jnp.exp(-log_scale)
        return jnp.log(2 * self.tau * (1 - self.tau)) - log_scale - self._pinball(z)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """τ e^{−2ρ(z)} below μ, 1 − (1 − τ) e^{−2ρ(z)} above, z = (y − μ)/b."""
        z = (y - eta[..., 0]) / positive(eta, 1, self.scale)
        tail = jnp.exp(-self._pinball(z))
        return jnp.where(z > 0, 1 - (1 - self.tau) * tail, self.tau * tail)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The inverse of the cdf, side by side."""
        t = self.tau
        below = jnp.log(jnp.minimum(q / t, 1.0)) / (2 * (1 - t))
        above = -jnp.log(jnp.minimum((1 - q) / (1 - t), 1.0)) / (2 * t)
        z = jnp.where(q > t, above, below)
        return eta[..., 0] + positive(eta, 1, self.scale) * z

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]

    def _pinball(self, r: Array) -> Array:
        """2ρ(r) = |r| + (2τ − 1) r, with the slope 2τ − 1 at 0."""
        return jnp.sign(r) * r + (2 * self.tau - 1) * r
