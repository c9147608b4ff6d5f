r"""The exponential distribution of waiting times."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import bounded, largest, standardised
from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.links import column, log_positive, positive, stack


class Exponential(AbstractFamily):
    r"""Waiting times y ≥ 0 with density $λ e^{-λy}$, λ = exp η: $-\log p = λy - \log λ$.

    It is the time to the first event of a Poisson process with rate λ; its mean is 1/λ.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Exponential(), np.log([[0.5]]))
        >>> print(dist.mean.round(2), dist.quantile(0.5).round(2))
        [2.] [1.39]
    """

    n_eta: int = eqx.field(default=1, static=True)
    needs: ClassVar[str] = "finite numbers of at least 0"
    remedy: ClassVar[str] = "Use Normal for values of both signs."

    def theta(self, eta: Float[Array, "*n 1"]) -> dict[str, Array]:
        """The rate λ."""
        return {"rate": positive(eta, 0)}

    def eta(self, *, rate: Any) -> Float[Array, "*n 1"]:
        """The column log λ."""
        return stack(column(rate))

    def distribution(self, **theta: Any) -> distributions.Exponential:
        """NumPyro's exponential distribution."""
        return distributions.Exponential(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " 1"]:
        """The column −log of the mean."""
        mean = weighted_mean(y, w)
        return stack(-column(jnp.maximum(mean, jnp.sqrt(jnp.finfo(mean.dtype).tiny))))

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative or not finite."""
        return ~((y >= 0) & np.isfinite(y))

    def log_prob(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log λ − λy."""
        rho = bounded(eta[..., 0])
        bound = jnp.full_like(rho, largest(rho))
        return rho - standardised(y.astype(rho.dtype), -rho, bound)

    def cdf(self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf 1 − e^(−λy)."""
        return -jnp.expm1(-positive(eta, 0) * jnp.maximum(y, 0.0))

    def log_survival(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log P(Y > y) = −λy for y ≥ 0."""
        return self.log_prob(eta, y) - log_positive(eta, 0)

    def quantile(
        self, eta: Float[Array, "*n 1"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile −log(1 − q) / λ."""
        return -jnp.log1p(-q) / positive(eta, 0)

    def mode(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
        """The mode 0."""
        return jnp.zeros_like(eta[..., 0])
