r"""The Weibull family: lifetimes whose hazard rises or falls as a power of time."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.rows import weighted_mean
from likely.families.concentration import AbstractConcentration
from likely.families.links import column, log_positive, positive, stack
from likely.families.maximum import maximum


class Weibull(AbstractConcentration):
    r"""Positive y with scale s and shape k: $P(Y > y) = e^{-(y/s)^k}$.

    $$-\log p = \log\frac{s}{k} + (1 - k) \log\frac{y}{s} + \Bigl(\frac{y}{s}\Bigr)^k.$$

    The hazard is $\frac{k}{s}(y/s)^{k-1}$: it rises for k > 1 (wear), falls for k < 1 (early
    failures), and at k = 1 y is exponential with rate 1/s. η = (log s, log k), or (log s)
    with the shape fixed by `concentration`.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Weibull(2.0), np.zeros((1, 1)))
        >>> print(dist.quantile(0.5).round(3))
        [0.833]
    """

    needs: ClassVar[str] = "finite numbers above 0"
    remedy: ClassVar[str] = "Use Exponential where 0 occurs, Normal for both signs."
    __init__ = AbstractConcentration.__init__  # what type checkers see

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The scale s and the shape k."""
        shape = positive(eta, 1, self.concentration)
        return {"scale": positive(eta, 0), "concentration": shape}

    def eta(self, *, scale: Any, concentration: Any = None) -> Float[Array, "*n k"]:
        """The columns log s, or log s and log k."""
        free = self.concentration is None
        return stack(column(scale), column(concentration) if free else None)

    def distribution(self, **theta: Any) -> distributions.Weibull:
        """NumPyro's Weibull."""
        return distributions.Weibull(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The scale from the shape; the shape by Newton's method.

        log y has the deviation π/(k√6), which is where the search starts.
        """
        logs = jnp.log(y)
        centre = weighted_mean(logs, w)
        deviation = jnp.sqrt(weighted_mean((logs - centre) ** 2, w))
        tiny = jnp.finfo(deviation.dtype).eps * (1 + jnp.abs(centre))
        shape = 1.28254983 / jnp.maximum(deviation, tiny)
        if self.concentration is not None:
            shape = jnp.asarray(self.concentration, shape.dtype)
        start = self.eta(
            scale=jnp.exp(_log_power_mean(logs, w, shape)), concentration=shape
        )
        if self.concentration is not None:
            return start
        unit = jnp.stack([1 / shape, jnp.ones_like(shape)])
        return maximum(self, y, w, start, unit)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not positive, or not finite."""
        return ~((y > 0) & np.isfinite(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log k − log y + z − e^z with z = k log(y/s)."""
        log_shape = log_positive(eta, 1, self.concentration)
        shape, log_y = jnp.exp(log_shape), jnp.log(jnp.where(y > 0, y, 1.0))
        z = shape * (log_y - log_positive(eta, 0))
        inside = log_shape - log_y + z - _exp(z)
        at_zero = jnp.where((y == 0) & (shape < 1), jnp.inf, -jnp.inf)
        return jnp.where(y > 0, inside, at_zero)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """1 − e^{−(y/s)^k}."""
        log_y = jnp.log(jnp.where(y > 0, y, 1.0))
        z = positive(eta, 1, self.concentration) * (log_y - log_positive(eta, 0))
        power = jnp.where(y > 0, _exp(z), 0.0)
        return -jnp.expm1(-power)

    def log_survival(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log P(Y > y) = −(y/s)^k for y > 0."""
        shape = positive(eta, 1, self.concentration)
        return -_exp(shape * (jnp.log(y) - log_positive(eta, 0)))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """s (−log(1 − q))^{1/k}."""
        shape = positive(eta, 1, self.concentration)
        return positive(eta, 0) * (-jnp.log1p(-q)) ** (1 / shape)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """s ((k − 1)/k)^{1/k}, or 0 for k ≤ 1."""
        shape = positive(eta, 1, self.concentration)
        rising = jnp.maximum(1 - 1 / shape, 0.0)
        inside = jnp.where(rising > 0, rising, 1.0) ** (1 / shape)
        return positive(eta, 0) * jnp.where(rising > 0, inside, 0.0)


def _exp(z: Array) -> Array:
    """e^z, finite also where it would overflow: the density is zero there anyway."""
    return jnp.exp(jnp.minimum(z, 0.912 * np.log(np.finfo(z.dtype).max)))


def _log_power_mean(logs: Array, w: Array, k: Array) -> Array:
    """log of the mean of y^k, to the power 1/k: the scale of largest likelihood."""
    top = jnp.max(jnp.where(w > 0, logs, -jnp.inf))
    mean = weighted_mean(jnp.exp(k * (logs - top)), w)
    return top + jnp.log(mean) / k
