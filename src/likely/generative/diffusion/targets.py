r"""What a denoiser predicts: the noise, the row, or a mix of both; and what follows.

With signal $a = \sqrt{\bar α_t}$ and noise $σ = \sqrt{1 - \bar α_t}$ of $x_t = a x_0 + σ ε$:

    "eps"       ε                 the noise; x_0 = (x_t − σε)/a
    "x0"        x_0               the row;   ε = (x_t − a x_0)/σ
    "v"         v = aε − σx_0     both;      x_0 = a x_t − σv,  ε = σx_t + av
    "residual"  r = (x_0 − l)/c   what the number alone leaves open; x_0 = l + c r

Here l and c² are the mean and the variance of a number of x_0 given the same number of x_t, and
nothing else. Of a number with mean m and variance s² that is normal they are
$l = m + a s^2 (x_t - a m)/(a^2 s^2 + σ^2)$ and $c^2 = s^2 σ^2/(a^2 s^2 + σ^2)$; with m = 0 and
s = 1 the residual is −v. Of numbers with some known values (levels of categories, whole numbers,
black pixels) they are those of a mixture, see `levels`.

The gradient of the log density of noised rows, its score function, is −E[ε | x_t]/σ.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean
from likely.generative.diffusion.levels import Levels

TARGETS = ("residual", "v", "eps", "x0")
MAX_SIZE = 10.0
"""The largest number that is said of rows where all is noise, in standard deviations."""
MIN_VARIANCE = 0.5
"""The least variance of a pixel, as a share of the mean one: what is the same in all images of
the fit may be another thing in the next."""


class Units(eqx.Module):
    """The mean and the variance of each number of a row, and the values that it may have."""

    mean: Float[Array, "..."]
    variance: Float[Array, "..."]
    levels: Levels | None = None

    @classmethod
    def learn(
        cls,
        x: Float[Array, "n ..."],
        w: Float[Array, " n"],
        levels: Levels | None = None,
    ) -> "Units":
        """Of weighted rows, with the values that their numbers have."""
        flat, row = x.reshape(len(x), -1), x.shape[1:]
        mean = weighted_mean(flat, w)
        variance = weighted_mean((flat - mean[None]) ** 2, w)
        if len(row) > 1:
            variance = jnp.maximum(variance, MIN_VARIANCE * variance.mean())
        return cls(mean.reshape(row), variance.reshape(row), levels)

    def linear(self, xt: Any, a: Any, sigma: Any) -> tuple[Array, Array]:
        """l and c, the best linear estimate of x_0 and the deviation of what it leaves open."""
        m, s2 = jax.lax.stop_gradient((self.mean[None], self.variance[None]))
        total = a**2 * s2 + sigma**2
        return m + a * s2 * (xt - a * m) / total, jnp.sqrt(s2 / total) * sigma

    def parts(self, xt: Any, a: Any, sigma: Any) -> Array:
        """(n, ..., K + 1) log probabilities of values and of none, see `Levels.parts`."""
        m, s2 = jax.lax.stop_gradient((self.mean[None], self.variance[None]))
        assert self.levels is not None
        return self.levels.parts(xt, a, sigma, m, s2)

    def alone(self, xt: Any, a: Any, sigma: Any) -> tuple[Array, Array]:
        """l and c, the mean of each number by itself and its deviation."""
        line, c = self.linear(xt, a, sigma)
        if self.levels is None:
            return line, c
        w = jnp.exp(self.parts(xt, a, sigma))
        values = jax.lax.stop_gradient(self.levels.values)[None]
        mean = (w[..., :-1] * values).sum(-1) + w[..., -1] * line
        known = (w[..., :-1] * (values - mean[..., None]) ** 2).sum(-1)
        variance = known + w[..., -1] * (c**2 + (line - mean) ** 2)
        return mean, jnp.sqrt(variance)

    def row(self, said: Any, xt: Any, a: Any, sigma: Any) -> Array:
        """x_0 by what the denoiser said is left open."""
        estimate, c = self.alone(xt, a, sigma)
        return estimate + c * said

    def weight(self, a: Any, sigma: Any) -> Array:
        """1/c² of the mean variance of all numbers: what errors of x_0 are multiplied by."""
        s2 = jnp.maximum(jax.lax.stop_gradient(self.variance).mean(), 1e-12)
        return (a**2 * s2 + sigma**2) / (s2 * sigma**2)


def target_of(kind: str, x0: Any, eps: Any, a: Any, sigma: Any) -> Any:
    """What a denoiser should say, not of "residual".

    Args:
        kind: one of `TARGETS`.
        x0: rows.
        eps: their noise.
        a: √ᾱ of each row, with axes to spread over the row.
        sigma: √(1 − ᾱ), likewise.
    """
    if kind == "eps":
        return eps
    return x0 if kind == "x0" else a * eps - sigma * x0


def row_of(kind: str, said: Any, xt: Any, a: Any, sigma: Any) -> Any:
    """x_0 by what the denoiser said about x_t, not of "residual", see `Units.row`."""
    if kind == "eps":
        return (xt - sigma * said) / a
    return said if kind == "x0" else a * xt - sigma * said


def limited(x0: Any, xt: Any) -> Array:
    """Estimates that are no larger than rows can be.

    Under much noise an error of ε is divided by almost nothing, so that the estimates which
    follow from ε can have any size.
    """
    limit = MAX_SIZE + 2 * jnp.abs(xt)
    return jnp.clip(x0, -limit, limit)


def noise_of(x0: Any, xt: Any, a: Any, sigma: Any) -> Any:
    """ε that leads from x_0 to x_t."""
    return (xt - a * x0) / sigma
