r"""The gamma family: positive values with a constant coefficient of variation."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, ndtri
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import (
    HALF_LOG_2PI,
    largest,
    log1p_minus,
    standardised,
    stirling,
)
from likely.core.rows import weighted_mean
from likely.families.concentration import AbstractConcentration
from likely.families.incomplete import gamma_cdf
from likely.families.inversion import continuous_quantile
from likely.families.links import column, log_positive, positive, stack
from likely.families.maximum import maximum


class Gamma(AbstractConcentration):
    r"""Positive y with mean μ and shape a, so scale b = μ/a and variance μ²/a.

    $$-\log p = \log y + \tfrac12 \log\frac{2π}{a} + S(a) + a\,(e^t - 1 - t),
      \qquad t = \log\frac{y}{μ},$$

    with S(a) the remainder of Stirling's formula for log Γ(a). This is the familiar
    $y^{a-1} e^{-y/b} / (b^a Γ(a))$, written so that nothing cancels for large a.
    η = (log μ, log a), or (log μ) with the shape fixed by `concentration`; at a = 1 it
    is exponential with rate 1/μ.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Gamma(2.0), np.log([[3.0]]))
        >>> print(dist.mean.round(2), dist.std.round(2))
        [3.] [2.12]
    """

    needs: ClassVar[str] = "finite numbers above 0"
    remedy: ClassVar[str] = "Use Exponential where 0 occurs, Normal for both signs."
    __init__ = AbstractConcentration.__init__  # what type checkers see

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The shape a and the rate 1/b = a/μ."""
        shape = positive(eta, 1, self.concentration)
        return {"concentration": shape, "rate": shape / positive(eta, 0)}

    def eta(self, *, concentration: Any = None, rate: Any) -> Float[Array, "*n k"]:
        """The columns log μ, or log μ and log a."""
        if self.concentration is None:
            mean = jnp.asarray(concentration) / jnp.asarray(rate)
            return stack(column(mean), column(concentration))
        return stack(column(self.concentration / jnp.asarray(rate)))

    def distribution(self, **theta: Any) -> distributions.Gamma:
        """NumPyro's gamma distribution."""
        return distributions.Gamma(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The mean, and a by Newton's method: log a − ψ(a) = log mean − mean log."""
        mean = weighted_mean(y, w)
        if self.concentration is not None:
            return stack(column(mean))
        gap = jnp.log(mean) - weighted_mean(jnp.log(y), w)
        shape = 0.5 / jnp.maximum(gap, jnp.finfo(mean.dtype).eps)
        return maximum(self, y, w, stack(column(mean), column(shape)))

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not positive, or not finite."""
        return ~((y > 0) & np.isfinite(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = ½ log(a/2π) − S(a) − log y − a(e^t − 1 − t)."""
        log_a, log_mean = log_positive(eta, 1, self.concentration), log_positive(eta, 0)
        inner = jnp.where(y > 0, y, 1.0).astype(eta.dtype)
        a, log_y = jnp.exp(log_a), jnp.log(inner)
        bound = largest(a) / jnp.maximum(a, 1.0)
        ratio = standardised(inner, log_mean, bound)  # y/μ
        gap = standardised(inner - jnp.exp(log_mean), log_mean, bound)
        near = jnp.abs(gap) < 0.25
        close = -log1p_minus(jnp.where(near, gap, 0.0))
        spread = jnp.where(near, close, ratio - 1 - (log_y - log_mean))
        inside = 0.5 * log_a - HALF_LOG_2PI - stirling(a) - log_y - a * spread
        return jnp.where(
            y > 0, inside, jnp.where((y == 0) & (a < 1), jnp.inf, -jnp.inf)
        )

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """The cdf P(a, y/b), the lower incomplete gamma function."""
        log_a, log_mean = log_positive(eta, 1, self.concentration), log_positive(eta, 0)
        finfo = jnp.finfo(eta.dtype)
        y = jnp.clip(y.astype(eta.dtype), 0.0, finfo.max)
        log_x = jnp.log(jnp.maximum(y, finfo.tiny)) + log_a - log_mean
        x = jnp.minimum(jnp.exp(log_a - log_mean) * y, finfo.max)
        return jnp.where(y > 0, gamma_cdf(jnp.exp(log_a), x, log_x)[0], 0.0)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The quantile, by a search on the cdf."""
        a, finfo = positive(eta, 1, self.concentration), jnp.finfo(eta.dtype)
        root = 1 - 1 / (9 * a) + ndtri(q) / (3 * jnp.sqrt(a))  # Wilson and Hilferty
        small = (jnp.log(q) + gammaln(a + 1)) / a - jnp.log(a)  # exact as q → 0
        guess = jnp.maximum(3 * jnp.log(jnp.maximum(root, finfo.tiny)), small)
        guess += log_positive(eta, 0)
        guess = jnp.exp(jnp.clip(guess, np.log(finfo.tiny), np.log(finfo.max)))
        zero = jnp.zeros_like(guess)
        y = continuous_quantile(
            lambda y: self.cdf(eta, y), q, guess, zero, zero + finfo.max
        )
        return jnp.where(q > 0, jnp.where(q < 1, y, jnp.inf), 0.0)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode μ (a − 1)/a, or 0 for a ≤ 1."""
        mean, a = positive(eta, 0), positive(eta, 1, self.concentration)
        return jnp.maximum(mean - mean / a, 0.0)
