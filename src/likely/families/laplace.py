r"""The Laplace family: absolute loss and medians."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.links import column, fixed, log_positive, positive, stack
from likely.families.weighted import weighted_median


class Laplace(AbstractFamily):
    r"""Laplace(μ, b): $-\log p = \log 2b + |y-μ| / b$; variance $2b^2$.

    `Laplace(scale=1.0)` fixes b, η = (μ): absolute loss in nats. `Laplace()` has
    η = (μ, log b). As a prior on a weight, b = 1/λ is the penalty λ|t|. At y = μ
    the gradient is the subgradient 0.
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
        """The median μ, and the mean absolute deviation b."""
        return {"loc": eta[..., 0], "scale": positive(eta, 1, self.scale)}

    def eta(self, *, loc: Any, scale: Any = None) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log b."""
        return stack(loc, column(scale) if self.scale is None else None)

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

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = −log 2b − |z|, where z = (y − μ)/b."""
        log_scale = log_positive(eta, 1, self.scale)
        z = (y - eta[..., 0]) * jnp.exp(-log_scale)
        return -log_scale - jnp.log(2.0) - jnp.sign(z) * z  # jnp.abs has slope 1 at 0

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf: ½ e^z below the median, 1 − ½ e^−z above."""
        z = (y - eta[..., 0]) / positive(eta, 1, self.scale)
        tail = 0.5 * jnp.exp(-jnp.abs(z))
        return jnp.where(z > 0, 1 - tail, tail)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile: μ + b log 2q below the median, μ − b log 2(1 − q) above."""
        distance = jnp.log(2 * jnp.minimum(q, 1 - q))
        z = jnp.where(q > 0.5, -distance, distance)
        return eta[..., 0] + positive(eta, 1, self.scale) * z

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]
