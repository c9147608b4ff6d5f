r"""Rational-quadratic splines: increasing functions of a number, inverted by a formula.

On $[-B, B]$ the function goes through K + 1 knots $(x_k, y_k)$ with slopes $δ_k$; outside it
is the identity. In bin k, with the width $w$, the height $h$, $s = h/w$ and
$ξ = (x - x_k)/w$,
$$y = y_k + \frac{h\,(s ξ^2 + δ_k ξ(1-ξ))}{s + (δ_{k+1} + δ_k - 2s)\,ξ(1-ξ)},$$
whose inverse is the root of a quadratic equation (Gregory and Delbourgo 1982; Durkan,
Bekasov, Murray and Papamakarios 2019).
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.bijections.affine import AbstractIncreasing

LOG_BOUND = 2.0
"""The largest |log| of a slope, and of the size of a bin before all are made to fit."""


class Bin(NamedTuple):
    """The bin of each number: where it begins, its size, and the slopes at its ends."""

    x: Array
    y: Array
    width: Array
    height: Array
    left: Array
    right: Array


class RationalQuadratic(AbstractIncreasing):
    """A rational-quadratic spline with K bins on [−B, B], the identity outside.

    Args:
        n_bins: K.
        bound: B.
    """

    n_bins: int = eqx.field(static=True, default=8)
    bound: float = eqx.field(static=True, default=5.0)

    def __check_init__(self):
        if not (self.n_bins >= 2 and 0 < self.bound < math.inf):
            raise InputError(
                f"n_bins is {self.n_bins} and bound {self.bound}; give at least 2 bins, "
                "and a positive bound."
            )

    @property
    def n_parameters(self) -> int:
        return 3 * self.n_bins - 1

    def forward(self, x, theta):
        B = self.bound
        inner = jnp.clip(x, -B, B)
        b = self._bin(inner, theta, along="x")
        s = b.height / b.width
        xi = jnp.clip((inner - b.x) / b.width, 0.0, 1.0)
        mix, curve = xi * (1 - xi), b.right + b.left - 2 * s
        below = s + curve * mix
        y = b.y + b.height * (s * xi**2 + b.left * mix) / below
        # y' = s² (δ_{k+1} ξ² + 2 s ξ(1−ξ) + δ_k (1−ξ)²) / (s + ...)²
        slope = b.right * xi**2 + 2 * s * mix + b.left * (1 - xi) ** 2
        log_slope = 2 * (jnp.log(s) - jnp.log(below)) + jnp.log(slope)
        inside = jnp.abs(x) < B
        return jnp.where(inside, y, x), jnp.where(inside, log_slope, 0.0)

    def inverse(self, y, theta):
        B = self.bound
        inner = jnp.clip(y, -B, B)
        bin_ = self._bin(inner, theta, along="y")
        s, above = bin_.height / bin_.width, inner - bin_.y
        curve = above * (bin_.right + bin_.left - 2 * s)
        a = bin_.height * (s - bin_.left) + curve
        b = bin_.height * bin_.left - curve
        c = -s * above
        root = jnp.sqrt(jnp.maximum(b**2 - 4 * a * c, 0.0))
        xi = jnp.clip(-2 * c / (b + root), 0.0, 1.0)
        return jnp.where(jnp.abs(y) < B, bin_.x + xi * bin_.width, y)

    def _bin(
        self, at: Float[Array, "*n d"], theta: Float[Array, "*n p d"], *, along: str
    ) -> Bin:
        """The bin that each number is in, by the knots in x or in y."""
        K = self.n_bins
        theta = LOG_BOUND * jnp.tanh(theta / LOG_BOUND)
        w, h, slopes = jnp.split(theta, [K, 2 * K], axis=-2)
        width, height = self._parts(w), self._parts(h)
        xs, ys = self._knots(width), self._knots(height)
        knots = xs if along == "x" else ys
        # bin k holds the numbers at or above knot k and below knot k + 1
        above = (at[..., None, :] >= knots[..., 1:, :]).astype(at.dtype)
        own = jnp.concatenate([jnp.ones_like(above[..., :1, :]), above], -2)
        own = own - jnp.concatenate([above, jnp.zeros_like(above[..., :1, :])], -2)
        one = jnp.ones_like(slopes[..., :1, :])
        inner = jnp.exp(slopes)
        left = jnp.concatenate([one, inner], -2)
        right = jnp.concatenate([inner, one], -2)
        every = (xs, ys, width, height, left, right)
        return Bin(*((own * values).sum(-2) for values in every))

    def _parts(self, u: Float[Array, "*n k d"]) -> Float[Array, "*n k d"]:
        """Positive parts of the interval [−B, B] whose sum is all of it."""
        return 2 * self.bound * jax.nn.softmax(u, axis=-2)

    def _knots(self, parts: Float[Array, "*n k d"]) -> Float[Array, "*n k d"]:
        """Where each part begins."""
        ends = jnp.cumsum(parts[..., :-1, :], -2)
        first = jnp.zeros_like(parts[..., :1, :])
        return jnp.concatenate([first, ends], -2) - self.bound
