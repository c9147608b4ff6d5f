r"""What a denoiser predicts: the noise, the row, or a mix of both; and what follows.

With signal $a = \sqrt{\bar α_t}$ and noise $σ = \sqrt{1 - \bar α_t}$ of $x_t = a x_0 + σ ε$:

    "eps"       ε                 the noise; x_0 = (x_t − σε)/a
    "x0"        x_0               the row;   ε = (x_t − a x_0)/σ
    "v"         v = aε − σx_0     both;      x_0 = a x_t − σv,  ε = σx_t + av
    "residual"  r = (x_0 − l)/c   what the best linear estimate l leaves open; x_0 = l + c r

Each number of a row has a mean m and a variance s². If it were normal, then
$l = m + a s^2 (x_t - a m)/(a^2 s^2 + σ^2)$ and $c^2 = s^2 σ^2/(a^2 s^2 + σ^2)$ would be the mean
and the variance of x_0 given x_t. With m = 0 and s = 1 the residual is −v.

The gradient of the log density of noised rows, its score function, is −E[ε | x_t]/σ.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.rows import weighted_mean

TARGETS = ("residual", "v", "eps", "x0")


class Units(eqx.Module):
    """The mean and the variance of each number of a row."""

    mean: Float[Array, "..."]
    variance: Float[Array, "..."]

    @classmethod
    def learn(cls, x: Float[Array, "n ..."], w: Float[Array, " n"]) -> "Units":
        """Of weighted rows."""
        flat = x.reshape(len(x), -1)
        mean = weighted_mean(flat, w)
        variance = weighted_mean((flat - mean[None]) ** 2, w)
        return cls(mean.reshape(x.shape[1:]), variance.reshape(x.shape[1:]))

    def linear(self, xt: Any, a: Any, sigma: Any) -> tuple[Array, Array]:
        """l and c, the best linear estimate of x_0 and the deviation of what it leaves open."""
        m, s2 = jax.lax.stop_gradient((self.mean[None], self.variance[None]))
        total = a**2 * s2 + sigma**2
        return m + a * s2 * (xt - a * m) / total, jnp.sqrt(s2 / total) * sigma

    def row(self, said: Any, xt: Any, a: Any, sigma: Any) -> Array:
        """x_0 by what the denoiser said is left open."""
        estimate, c = self.linear(xt, a, sigma)
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


def noise_of(x0: Any, xt: Any, a: Any, sigma: Any) -> Any:
    """ε that leads from x_0 to x_t."""
    return (xt - a * x0) / sigma
