r"""The log-normal family: positive values whose logarithm is normal."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Num
from numpyro import distributions

from likely.core.numerics import largest, standardised
from likely.families.family import AbstractFamily
from likely.families.links import fixed, log_positive
from likely.families.normal import Normal

FAR = 20.0
"""The standard score from which the logarithm of the tail is computed by its series."""
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


class LogNormal(AbstractFamily):
    r"""Positive y with $\log y \sim N(μ, σ^2)$: $-\log p = \log y - \log N(\log y; μ, σ)$.

    The median is $e^μ$ and the mean $e^{μ + σ^2/2}$. η = (μ, log σ), or (μ) with σ fixed
    by `scale`.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.LogNormal(0.5), np.zeros((1, 1)))
        >>> print(dist.mean.round(2), dist.quantile(0.5).round(2))
        [1.13] [1.]
    """

    scale: np.ndarray | None
    needs: ClassVar[str] = "finite numbers above 0"
    remedy: ClassVar[str] = "Use Hurdle where 0 occurs, Normal for both signs."

    def __init__(self, scale: float | int | None = None):
        self.scale = fixed(scale, "scale")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed scale, else 2."""
        return 2 if self.scale is None else 1

    @property
    def _logs(self) -> Normal:
        """The family of log y."""
        if self.scale is None:
            return Normal()
        return eqx.tree_at(lambda family: family.scale, Normal(1.0), self.scale)

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean μ and the deviation σ of log y."""
        return self._logs.theta(eta)

    def eta(self, *, loc: Any, scale: Any = None) -> Float[Array, "*n k"]:
        """The columns μ, or μ and log σ."""
        return self._logs.eta(loc=loc, scale=scale)

    def distribution(self, **theta: Any) -> distributions.LogNormal:
        """NumPyro's log-normal distribution."""
        return distributions.LogNormal(**theta)

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The weighted mean of log y, and the standard deviation about it (1/n)."""
        return self._logs.marginal(jnp.log(y), w)

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is not positive, or not finite."""
        return ~((y > 0) & np.isfinite(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log p = log N(log y; μ, σ) − log y."""
        log_y = _log(y, eta)
        return jnp.where(y > 0, self._logs.log_prob(eta, log_y) - log_y, -jnp.inf)

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """Φ((log y − μ)/σ)."""
        return jnp.where(y > 0, self._logs.cdf(eta, _log(y, eta)), 0.0)

    def log_survival(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """log P(Y > y) = log Φ(−z) for y > 0, where z = (log y − μ)/σ."""
        log_scale = log_positive(eta, 1, self.scale)
        bound = jnp.full_like(log_scale, largest(log_scale, 2))
        z = standardised(_log(y, eta) - eta[..., 0], log_scale, bound)
        far = z > FAR
        near = norm.logcdf(-jnp.clip(jnp.where(far, 0.0, z), -2 * FAR, None))
        x = jnp.where(far, z, FAR)
        r = 1 / x**2
        series = jnp.log1p(-r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r)))))
        tail = -0.5 * x**2 - jnp.log(x) - HALF_LOG_2PI + series
        return jnp.where(far, tail, near)

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """The exponential of the quantile of log y."""
        return jnp.exp(self._logs.quantile(eta, q))

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """The mode e^(μ − σ²)."""
        theta = self.theta(eta)
        return jnp.exp(theta["loc"] - theta["scale"] ** 2)


def _log(y: Num[Array, "*n"], eta: Array) -> Float[Array, "*n"]:
    """log y, and 0 where y is not positive."""
    return jnp.log(jnp.where(y > 0, y, 1.0).astype(eta.dtype))
