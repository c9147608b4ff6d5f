r"""The Tweedie family between Poisson and gamma: sums of a random number of gamma values."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, Num
from numpyro.distributions import Distribution

from likely.core.checks import InputError
from likely.core.precision import number
from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily
from likely.families.incomplete import gamma_cdf
from likely.families.inversion import continuous_quantile
from likely.families.links import column, fixed, log_positive, stack
from likely.families.maximum import maximum
from likely.families.tweedie_distribution import (
    TweedieDistribution,
    log_density,
    log_poisson,
    numbers_of_events,
    parts,
    repeated,
)

POWERS = (1.05, 1.95)
"""The least and the largest power."""


class Tweedie(AbstractFamily):
    r"""Numbers from zero on with mean μ and variance φ μ^p, 1 < p < 2: totals of claims, rain.

    y is the sum of N values of a gamma distribution, N Poisson with mean λ; so y = 0
    has the probability $e^{-λ}$, and above 0

    $$p(y) = \sum_{j \ge 1} \mathrm{Poisson}(j; λ)\, \mathrm{Gamma}(y; jα, γ), \qquad
      λ = \frac{μ^{2-p}}{φ(2-p)},\; α = \frac{2-p}{p-1},\; γ = φ(p-1)μ^{p-1}.$$

    The sum has its largest terms at $j = y^{2-p}/(φ(2-p))$, within a few times the root of
    (p − 1) j. Where there are many, every h-th is taken h times, which is exact to about
    twelve digits for terms as smooth as these. η = (log μ, log φ), or (log μ) with φ
    fixed by `dispersion`.

    Args:
        power: p.
        dispersion: φ, where it is known.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Tweedie(1.5, 1.0), np.zeros((1, 1)))
        >>> print(dist.mean.round(2), dist.std.round(2))
        [1.] [1.]
    """

    power: np.ndarray
    dispersion: np.ndarray | None
    needs: ClassVar[str] = "finite numbers of at least 0"
    remedy: ClassVar[str] = "Use Normal for both signs."
    zeros: ClassVar[bool] = True

    def __init__(self, power: float | int = 1.5, dispersion: float | int | None = None):
        low, high = POWERS
        if not (np.ndim(power) == 0 and low <= power <= high):
            raise InputError(
                f"power is {power}; give a number from {low} to {high}. Use Poisson for 1 and "
                "Gamma for 2."
            )
        self.power = number(power)
        self.dispersion = fixed(dispersion, "dispersion")

    @property
    def n_eta(self) -> int:
        """The length of η: 1 with a fixed dispersion, else 2."""
        return 2 if self.dispersion is None else 1

    def theta(self, eta: Float[Array, "*n k"]) -> dict[str, Array]:
        """The mean μ and the dispersion φ."""
        log_mean, log_phi = self._logs(eta)
        return {"mean": jnp.exp(log_mean), "dispersion": jnp.exp(log_phi)}

    def eta(self, *, mean: Any, dispersion: Any = None) -> Float[Array, "*n k"]:
        """The columns log μ, or log μ and log φ."""
        free = self.dispersion is None
        return stack(column(mean), column(dispersion) if free else None)

    def distribution(self, *, mean: Any, dispersion: Any) -> Distribution:
        """The sum of a Poisson number of gamma values as a NumPyro distribution."""
        return TweedieDistribution(mean, dispersion, jnp.asarray(self.power))

    def marginal(
        self, y: Num[Array, " n"], w: Float[Array, " n"]
    ) -> Float[Array, " k"]:
        """The mean, and φ by Newton's method from its moment estimate."""
        mean = weighted_mean(y, w)
        mean = jnp.where(mean > 0, mean, 0.5 / w.sum())
        if self.dispersion is not None:
            return stack(column(mean))
        variance = weighted_mean((y - mean) ** 2, w)
        tiny = jnp.finfo(mean.dtype).eps
        phi = jnp.maximum(variance / mean**2, tiny) * mean ** (2 - self.power)
        return maximum(self, y, w, self.eta(mean=mean, dispersion=phi))

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Whether each y is negative, or not finite."""
        return ~((y >= 0) & np.isfinite(y))

    def log_prob(
        self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """−λ at 0, the logarithm of the sum over the number of events above."""
        power = jnp.asarray(self.power, eta.dtype)
        return log_density(*self._logs(eta), power, y.astype(eta.dtype))

    def cdf(self, eta: Float[Array, "*n k"], y: Num[Array, "*n"]) -> Float[Array, "*n"]:
        """e^−λ and the gamma cdfs, weighted by the probabilities of their numbers."""
        log_rate, log_shape, log_scale = self._parts(eta)
        finfo = jnp.finfo(eta.dtype)
        rate = jnp.exp(log_rate)
        j, _ = numbers_of_events(rate, 0.225 * jnp.sqrt(rate))
        share = jax.nn.softmax(log_poisson(log_rate, j), axis=-1)
        inner = jnp.clip(y.astype(eta.dtype), finfo.tiny, finfo.max)
        shape = j * jnp.exp(log_shape)
        log_x = repeated(jnp.log(inner) - log_scale, j)
        x = jnp.exp(jnp.minimum(log_x, jnp.log(finfo.max)))
        lower, upper = gamma_cdf(shape, x, log_x)
        none, some = jnp.exp(-rate), -jnp.expm1(-rate)
        below, beyond = jnp.sum(share * lower, -1), jnp.sum(share * upper, -1)
        inside = jnp.where(beyond > 0.5, none + some * below, 1 - some * beyond)
        inside = jnp.where(y > 0, inside, none)
        return jnp.where(y < 0, 0.0, jnp.where(jnp.isinf(y), 1.0, inside))

    def quantile(
        self, eta: Float[Array, "*n k"], q: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        """0 up to q = e^−λ, then by a search on the cdf."""
        log_rate, finfo = self._parts(eta)[0], jnp.finfo(eta.dtype)
        rate = jnp.exp(log_rate)
        none, some = jnp.exp(-rate), -jnp.expm1(-rate)
        above = q > none
        level = jnp.where(above, q, 0.5 * (1 + none))
        # a gamma distribution of the same mean and variance (Wilson and Hilferty)
        a = jnp.clip((2 - jnp.asarray(self.power, eta.dtype)) * rate, 1e-3, finfo.max)
        rank = jnp.clip((level - none) / some, finfo.eps, 1 - finfo.eps)
        root = 1 - 1 / (9 * a) + ndtri(rank) / (3 * jnp.sqrt(a))
        guess = (
            3 * jnp.log(jnp.maximum(root, 0.05)) + self._logs(eta)[0] - jnp.log(some)
        )
        guess = jnp.exp(jnp.clip(guess, jnp.log(finfo.tiny), jnp.log(finfo.max)))
        zero = jnp.zeros_like(guess)
        y = continuous_quantile(
            lambda y: self.cdf(eta, y),
            level,
            guess,
            zero,
            zero + finfo.max,
        )
        return jnp.where(above, jnp.where(q < 1, y, jnp.inf), 0.0)

    def mode(self, eta: Float[Array, "*n k"]) -> Float[Array, "*n"]:
        """0, or the highest point up to the mean where p is higher there."""
        mean = jnp.exp(self._logs(eta)[0])
        low, high = jnp.zeros_like(mean), mean
        share = (
            jnp.arange(1.0, 33.0, dtype=eta.dtype).reshape((1,) * mean.ndim + (-1,))
            / 33
        )

        def best(low, high):
            points = low[..., None] + share * (high - low)[..., None]
            rows = jnp.broadcast_to(eta[..., None, :], (*points.shape, eta.shape[-1]))
            index = jnp.argmax(self.log_prob(rows, points), -1)
            return jnp.take_along_axis(points, index[..., None], -1)[..., 0]

        def zoom(_, ends):
            low, high = ends
            centre, width = best(low, high), (high - low) / 16
            return jnp.maximum(centre - width, low), jnp.minimum(centre + width, high)

        low, high = jax.lax.fori_loop(0, 7, zoom, (low, high))
        found = 0.5 * (low + high)
        higher = self.log_prob(eta, found) > self.log_prob(eta, jnp.zeros_like(found))
        return jnp.where(higher & (found > 1e-3 * mean), found, 0.0)

    def _logs(self, eta: Float[Array, "*n k"]) -> tuple[Array, Array]:
        """log μ and log φ."""
        return log_positive(eta, 0), log_positive(eta, 1, self.dispersion)

    def _parts(self, eta: Float[Array, "*n k"]) -> tuple[Array, Array, Array]:
        """log λ, log α and log γ."""
        log_mean, log_phi = self._logs(eta)
        return parts(log_mean, log_phi, jnp.asarray(self.power, eta.dtype))
