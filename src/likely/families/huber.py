r"""The density whose negative logarithm is Huber's loss."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from likely.core.numerics import largest, standardised
from likely.families.family import AbstractFamily
from likely.families.huber_distribution import (
    HuberDistribution,
    huber_loss,
    normaliser,
)
from likely.families.links import (
    column,
    fixed,
    log_positive,
    positive,
    positive_setting,
    stack,
)
from likely.families.maximum import maximum
from likely.families.weighted import weighted_median


class Huber(AbstractFamily):
    r"""A normal centre with Laplace tails: $p = e^{-h(e)} / (s Z)$ with $e = (y-μ)/s$.

    $h(e) = e^2/2$ for $|e| \le δ$ and $δ|e| - δ^2/2$ beyond. `Huber(scale=1.0)` fixes
    s, η = (μ): Huber's loss in nats. `Huber()` has η = (μ, log s), which makes the
    threshold δ·s between "noise" and "outlier" a quantity learned from the data.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Huber(1.0), np.zeros((1, 1)))
        >>> print(dist.interval(0.9)[1].round(2))
        [2.42]
    """

    scale: np.ndarray | None
    delta: np.ndarray
    needs: ClassVar[str] = "finite numbers"
    remedy: ClassVar[str] = "Remove or impute the row."

    def __init__(self, scale: float | int | None = None, delta: float | int = 1.0):
        self.scale, self.delta = fixed(scale, "scale"), positive_setting(delta, "delta")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed scale, else 2."""
        return 2 if self.scale is None else 1

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The location, the scale and the threshold δ."""
        loc, scale = eta[..., 0], positive(eta, 1, self.scale)
        return {"loc": loc, "scale": scale, "delta": jnp.full_like(loc, self.delta)}

    def eta(
        self, *, loc: Any, scale: Any = None, delta: Any = None
    ) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log s."""
        return stack(loc, column(scale) if self.scale is None else None)

    def distribution(self, **theta: Any) -> HuberDistribution:
        """Huber's density as a NumPyro distribution."""
        return HuberDistribution(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """Newton's method from the median and the median absolute deviation."""
        loc = weighted_median(y, w)
        spread = weighted_median(jnp.abs(y - loc), w)
        spread = jnp.maximum(spread, jnp.sqrt(jnp.finfo(w.dtype).tiny))
        unit = jnp.ones(self.n_eta, w.dtype).at[0].set(spread)
        return maximum(self, y, w, self.eta(loc=loc, scale=spread), unit)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is NaN or infinite."""
        return ~np.isfinite(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = −log s − log Z − h(e)."""
        log_scale = log_positive(eta, 1, self.scale)
        delta = jnp.asarray(self.delta, eta.dtype)
        bound = jnp.full_like(log_scale, largest(log_scale)) / (1 + delta)
        e = standardised(y - eta[..., 0], log_scale, bound)
        return -log_scale - jnp.log(normaliser(delta)) - huber_loss(e, delta)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf: exponential in the tails, normal between."""
        return self(eta).cdf(y)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The inverse of the cdf, in closed form."""
        return self(eta).icdf(q)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ."""
        return eta[..., 0]
