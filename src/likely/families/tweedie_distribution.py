r"""Tweedie's density as a sum over the number of events, and as a NumPyro distribution."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float
from numpyro.distributions import Distribution, constraints

from likely.families.gamma import Gamma
from likely.families.poisson import Poisson

TERMS = 96
"""The number of terms that a sum over the number of events has."""
TERMS_BELOW = 44
"""How many of them lie below its largest one."""
MIN_SPACED = 5.5
"""The standard deviation of the terms from which some of them stand for their neighbours."""


def parts(log_mean: Array, log_phi: Array, power: Array) -> tuple[Array, Array, Array]:
    """The logarithms of λ, α and γ of μ, φ and p."""
    log_rate = (2 - power) * log_mean - log_phi - jnp.log(2 - power)
    log_shape = jnp.log(2 - power) - jnp.log(power - 1)
    return log_rate, log_shape, log_phi + jnp.log(power - 1) + (power - 1) * log_mean


@jax.custom_jvp
def log_density(
    log_mean: Float[Array, "*n"],
    log_phi: Float[Array, "*n"],
    power: Float[Array, ""],
    y: Float[Array, "*n"],
) -> Float[Array, "*n"]:
    """log p(y): −λ at 0, the logarithm of the sum over the number of events above.

    Its derivatives are those in log μ and log φ, by formulas: p and y are known.
    """
    logs, _, step = _terms(log_mean, log_phi, power, y)
    none = -jnp.exp(parts(log_mean, log_phi, power)[0])
    above = logsumexp(logs, axis=-1) + jnp.log(step)
    return jnp.where(y > 0, above, jnp.where(y == 0, none, -jnp.inf))


@log_density.defjvp
def _log_density_jvp(primals, tangents):
    log_mean, log_phi, power, y = primals
    log_rate, log_shape, log_scale = parts(log_mean, log_phi, power)
    rate, inner = jnp.exp(log_rate), jnp.where(y > 0, y, 1.0)
    most = 0.9 * jnp.log(jnp.finfo(y.dtype).max)
    ratio = jnp.exp(jnp.minimum(jnp.log(inner) - log_scale, most))
    ratio = jnp.where(y > 0, ratio, 0.0)
    events = _mean_events(log_mean, log_phi, power, y)
    by_mean = (power - 1) * ratio - (2 - power) * rate
    by_phi = rate + ratio - (1 + jnp.exp(log_shape)) * events
    slope = by_mean * tangents[0] + by_phi * tangents[1]
    return log_density(*primals), slope


@jax.custom_jvp
def _mean_events(log_mean: Array, log_phi: Array, power: Array, y: Array) -> Array:
    """The mean number of events, given their sum y."""
    logs, j, _ = _terms(log_mean, log_phi, power, y)
    return jnp.where(y > 0, jnp.sum(jax.nn.softmax(logs, axis=-1) * j, -1), 0.0)


@_mean_events.defjvp
def _mean_events_jvp(primals, tangents):
    logs, j, _ = _terms(*primals)
    share = jax.nn.softmax(logs, axis=-1)
    mean = jnp.sum(share * j, -1)
    variance = jnp.sum(share * (j - mean[..., None]) ** 2, -1)
    above, power = primals[3] > 0, primals[2]
    slope = -variance / (power - 1) * tangents[1]  # 1 + α = 1/(p − 1)
    return jnp.where(above, mean, 0.0), jnp.where(above, slope, 0.0)


def _terms(
    log_mean: Array, log_phi: Array, power: Array, y: Array
) -> tuple[Float[Array, "*n j"], Float[Array, "*n j"], Float[Array, "*n"]]:
    """The logarithms of the terms of the sum, their numbers of events, and its step."""
    log_rate, log_shape, log_scale = parts(log_mean, log_phi, power)
    inner = jnp.where(y > 0, y, 1.0)
    most = jnp.log(jnp.finfo(y.dtype).max) / 2
    log_top = (2 - power) * jnp.log(inner) - log_phi - jnp.log(2 - power)
    top = jnp.exp(jnp.clip(log_top, -most, most))
    j, step = numbers_of_events(top, jnp.sqrt((power - 1) * top))
    log_shapes = jnp.log(j) + log_shape
    log_means = log_shapes + repeated(log_scale, j)
    sizes = Gamma().log_prob(jnp.stack([log_means, log_shapes], -1), repeated(inner, j))
    return log_poisson(log_rate, j) + sizes, j, step


def log_poisson(log_rate: Array, j: Float[Array, "*n j"]) -> Float[Array, "*n j"]:
    """The log-probability of each number of events."""
    return Poisson().log_prob(repeated(log_rate, j)[..., None], j)


def repeated(a: Float[Array, "*n"], j: Float[Array, "*n j"]) -> Float[Array, "*n j"]:
    """Each entry once for every term."""
    return jnp.broadcast_to(a[..., None], j.shape)


def _ones(a: Array) -> tuple[int, ...]:
    return (1,) * a.ndim


def numbers_of_events(
    top: Float[Array, "*n"], deviation: Float[Array, "*n"]
) -> tuple[Float[Array, "*n j"], Float[Array, "*n"]]:
    """Numbers of events around the largest term, and the distance between them."""
    top, deviation = jax.lax.stop_gradient((top, deviation))
    step = jnp.where(deviation < MIN_SPACED, 1.0, jnp.floor(deviation / 1.25))
    start = jnp.maximum(jnp.floor(top) - TERMS_BELOW * step, 1.0)
    k = jnp.arange(TERMS, dtype=top.dtype).reshape(*_ones(top), -1)
    return start[..., None] + step[..., None] * k, step


class TweedieDistribution(Distribution):
    """The sum of a Poisson number of gamma values."""

    arg_constraints = {
        "mean_": constraints.positive,
        "dispersion": constraints.positive,
    }
    _support = constraints.nonnegative
    pytree_data_fields = ("power",)

    def __init__(self, mean, dispersion, power, *, validate_args=None):
        self.mean_, self.dispersion = jnp.broadcast_arrays(mean, dispersion)
        self.power = power
        super().__init__(jnp.shape(self.mean_), validate_args=validate_args)

    def log_prob(self, value: Any, intermediates: Any = None) -> Array:
        """log p with respect to a point mass at 0 and length above."""
        logs = jnp.log(self.mean_), jnp.log(self.dispersion)
        return log_density(*logs, jnp.asarray(self.power, logs[0].dtype), value)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws: a number of events, then the sum of their sizes."""
        first, second = jax.random.split(key)
        power = jnp.asarray(self.power, self.mean_.dtype)
        logs = parts(jnp.log(self.mean_), jnp.log(self.dispersion), power)
        rate, shape, scale = jax.tree.map(jnp.exp, logs)
        events = jax.random.poisson(first, rate, sample_shape + self.batch_shape)
        events = events.astype(self.mean_.dtype)
        size = jax.random.gamma(second, jnp.where(events > 0, events, 1.0) * shape)
        return jnp.where(events > 0, scale * size, 0.0)

    @property
    def mean(self) -> Array:
        """The mean μ."""
        return self.mean_

    @property
    def variance(self) -> Array:
        """The variance φ μ^p."""
        return self.dispersion * self.mean_**self.power
