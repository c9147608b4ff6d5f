r"""The Poisson family: counts at a rate."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import bounded
from likely.core.rows import weighted_mean
from likely.families.counts import count_term, not_whole
from likely.families.family import AbstractFamily
from likely.families.incomplete import gamma_cdf
from likely.families.inversion import discrete_quantile, normal_guess
from likely.families.links import column, positive, stack


class Poisson(AbstractFamily):
    r"""Counts y ~ Poisson(λ), λ = exp η: $-\log p = λ - y \log λ + \log y!$.

    It is the limit of the binomial with n trials of probability λ/n, and the number of
    events in unit time when waiting times are exponential with rate λ.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Poisson(), np.log([[3.0]]))
        >>> print(dist.mean.round(2), dist.interval(0.9))
        [3.] (array([1.]), array([6.]))
    """

    n_eta: int = eqx.field(default=1, static=True)
    discrete: ClassVar[bool] = True
    needs: ClassVar[str] = "counts (0, 1, 2, ...)"
    remedy: ClassVar[str] = "Use Normal for real or Gamma for positive values."

    def theta(self, eta: Float[Array, "*n 1"]) -> dict[str, Array]:
        """The rate λ."""
        return {"rate": positive(eta, 0)}

    def eta(self, *, rate: Any) -> Float[Array, "*n 1"]:
        """The column log λ."""
        return stack(column(rate))

    def distribution(self, **theta: Any) -> distributions.Poisson:
        """NumPyro's Poisson distribution."""
        return distributions.Poisson(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " 1"]:
        """The log of the mean count (of half a count where all are zero)."""
        mean = weighted_mean(y, w)
        return self.eta(rate=jnp.where(mean > 0, mean, 0.5 / w.sum()))

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative or not whole."""
        return not_whole(y)

    def log_prob(
        self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = y log λ − λ − log y!, by the divergence of y from λ."""
        rho, y = bounded(eta[..., 0]), y.astype(eta.dtype)
        rate = jnp.exp(rho)
        return count_term(y, rate, y - rate, rho)

    def cdf(self, eta: Float[Array, "*n 1"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """P(Y ≤ y) = Q(⌊y⌋ + 1, λ), the upper incomplete gamma function."""
        return poisson_cdf(positive(eta, 0), y)

    def quantile(
        self, eta: Float[Array, "*n 1"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search on the cdf."""
        rate = positive(eta, 0)
        return discrete_quantile(
            lambda y: poisson_cdf(rate, y), q, *normal_guess(q, rate, rate)
        )

    def mode(self, eta: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
        """The mode ⌊λ⌋."""
        return jnp.floor(positive(eta, 0))


def poisson_cdf(rate: Float[Array, "*n"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
    """The cdf P(Y ≤ y), at any real y."""
    k = jnp.floor(y).astype(rate.dtype)
    inside = jnp.clip(k, 0.0, jnp.finfo(rate.dtype).max / 2)
    return jnp.where(k < 0, 0.0, gamma_cdf(inside + 1, rate)[1])
