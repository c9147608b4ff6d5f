r"""Families of a location and a scale: y = μ + s z with z of a standard distribution."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from likely.core.numerics import largest, standardised
from likely.families.family import AbstractFamily
from likely.families.links import column, log_positive, positive, scaled, stack


class AbstractLocationScale(AbstractFamily):
    r"""Real y with $-\log p = \log s - \log p_0(z)$, $z = (y - μ)/s$; the mode is μ.

    η = (μ, log s), or (μ) with s fixed by `scale`. A family writes its density by z and log s,
    the cdf and quantile of the standard distribution, and the marginal fit.
    """

    scale: eqx.AbstractVar[np.ndarray | None]
    needs: ClassVar[str] = "finite numbers"
    remedy: ClassVar[str] = "Remove or impute the row."
    power: ClassVar[int] = 1
    """The power of z with which −log p grows."""

    @abstractmethod
    def log_density(self, z: Array, log_scale: Array) -> Float[Array, "*n"]:
        """log p = log p₀(z) − log s."""

    @abstractmethod
    def standard_cdf(self, z: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """P(Z ≤ z)."""

    @abstractmethod
    def standard_quantile(self, q: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The z with P(Z ≤ z) = q."""

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed scale, else 2."""
        return 2 if self.scale is None else 1

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The location μ and the scale s."""
        return {"loc": eta[..., 0], "scale": positive(eta, 1, self.scale)}

    def eta(self, *, loc: Any, scale: Any = None) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log s."""
        return stack(loc, column(scale) if self.scale is None else None)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log p₀(z) − log s, where z = (y − μ)/s."""
        log_scale = log_positive(eta, 1, self.scale)
        bound = jnp.full_like(log_scale, largest(log_scale, float(self.power)))
        z = standardised(y - eta[..., 0], log_scale, bound)
        return self.log_density(z, log_scale)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """P(Z ≤ z)."""
        return self.standard_cdf((y - eta[..., 0]) / positive(eta, 1, self.scale))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile μ + s z, z that of the standard distribution."""
        scale = positive(eta, 1, self.scale)
        return eta[..., 0] + scaled(scale, self.standard_quantile(q))

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]
