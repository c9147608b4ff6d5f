r"""The negative binomial family: counts with extra variance."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import deviance, largest, softplus, stirling
from likely.core.rows import weighted_mean
from likely.families.concentration import AbstractConcentration
from likely.families.counts import count_term, not_whole
from likely.families.incomplete import beta_cdf
from likely.families.inversion import discrete_quantile, normal_guess
from likely.families.links import column, log_positive, positive, stack
from likely.families.maximum import maximum


class NegativeBinomial(AbstractConcentration):
    r"""Counts with mean μ and variance μ + μ²/r, Poisson as the concentration r → ∞.

    $$-\log p = (r+y) \log(1 + \tfrac{μ}{r}) - y \log μ + \log y! - R(r, y),$$

    with $R = \log Γ(r+y) - \log Γ(r) - y \log r$, which vanishes as r → ∞. In the
    letters of "k failures before the r-th success", $\binom{k+r-1}{r-1} p^r (1-p)^k$,
    the success probability is p = r/(r + μ), so μ = r(1−p)/p; r need not be whole.
    η = (log μ, log r), or (log μ) with `concentration` fixed; at r = 1 it is geometric.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.NegativeBinomial(2.0), np.log([[3.0]]))
        >>> print(dist.mean.round(2), dist.std.round(2))
        [3.] [2.74]
    """

    discrete: ClassVar[bool] = True
    needs: ClassVar[str] = "counts (0, 1, 2, ...)"
    remedy: ClassVar[str] = "Use Normal for real or Gamma for positive values."
    __init__ = AbstractConcentration.__init__  # what type checkers see

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean and the concentration."""
        mean, r = positive(eta, 0), positive(eta, 1, self.concentration)
        return {"mean": mean, "concentration": r}

    def eta(self, *, mean: Any, concentration: Any = None) -> Float[Array, "*n k"]:
        """The columns log μ, or log μ and log r."""
        free = self.concentration is None
        return stack(column(mean), column(concentration) if free else None)

    def distribution(self, **theta: Any) -> distributions.NegativeBinomial2:
        """NumPyro's negative binomial distribution."""
        return distributions.NegativeBinomial2(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The mean count, and r by Newton's method from its moment estimate."""
        mean = weighted_mean(y, w)
        mean = jnp.where(mean > 0, mean, 0.5 / w.sum())
        extra = weighted_mean((y - mean) ** 2, w) - mean
        r = jnp.where(extra > 0, mean**2 / jnp.where(extra > 0, extra, 1.0), 100.0)
        start = self.eta(mean=mean, concentration=jnp.clip(r, 1e-3, 1e3))
        return start if self.concentration is not None else maximum(self, y, w, start)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative or not whole."""
        return not_whole(y)

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p, by the divergences of r and y from their shares of r + y."""
        y, log_mean = y.astype(eta.dtype), log_positive(eta, 0)
        log_r = log_positive(eta, 1, self.concentration)
        mean, r = jnp.exp(log_mean), jnp.exp(log_r)
        share = jax.nn.sigmoid(log_r - log_mean)  # r / (r + μ)
        gap, rest = (y - mean) * share, jax.nn.sigmoid(log_mean - log_r)
        log_y = jnp.log(jnp.where(y > 0, y, 1.0))
        growth = jnp.where(y > 0, softplus(log_y - log_r), 0.0)  # log(1 + y/r)
        log_ratio = softplus(log_mean - log_r) - growth
        failures = deviance(r, (r + y) * share, -gap, log_ratio)
        shape = stirling(r + y) - stirling(r) - 0.5 * growth - failures
        return shape + count_term(y, (r + y) * rest, gap, log_mean - log_ratio)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf I(p; r, ⌊y⌋ + 1), the incomplete beta function at p = r/(r + μ)."""
        log_mean = log_positive(eta, 0)
        log_r = log_positive(eta, 1, self.concentration)
        k = jnp.clip(jnp.floor(y).astype(eta.dtype), 0.0, largest(log_r))
        inside = beta_cdf(jnp.exp(log_r), k + 1, log_r - log_mean)[0]
        return jnp.where(y < 0, 0.0, jnp.where(jnp.isinf(y), 1.0, inside))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search on the cdf."""
        mean, r = positive(eta, 0), positive(eta, 1, self.concentration)
        guess = normal_guess(q, mean, mean + mean**2 / r)
        return discrete_quantile(lambda y: self.cdf(eta, y), q, *guess)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode ⌊μ (r − 1)/r⌋, or 0 for r ≤ 1."""
        mean, r = positive(eta, 0), positive(eta, 1, self.concentration)
        return jnp.floor(jnp.maximum(mean - mean / r, 0.0))
