r"""Running moments: weight, mean and sum of squares, merged without cancellation.

$\sum w y^2 - (\sum w y)^2 / \sum w$ loses every digit where the mean is large beside the
spread. Here squares are of deviations from the mean, and two parts are joined by

$$δ = \bar y_b - \bar y_a, \qquad \bar y = \bar y_a + \tfrac{W_b}{W} δ, \qquad
  S = S_a + S_b + \tfrac{W_a W_b}{W} δ^2 .$$
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Moments(eqx.Module):
    """Total weight, mean, and sum of squared deviations of each column."""

    weight: Float[Array, ""]
    mean: Float[Array, "..."]
    squares: Float[Array, "..."]

    @classmethod
    def of(cls, y: Float[Array, "n ..."], w: Float[Array, " n"]) -> "Moments":
        """The moments of rows, by two passes, each corrected for its rounding error."""
        weight = w.sum()
        first = jnp.tensordot(w, y, axes=1) / weight
        mean = first + jnp.tensordot(w, y - first[None], axes=1) / weight
        d = y - mean[None]
        error = jnp.tensordot(w, d, axes=1)
        return cls(weight, mean, jnp.tensordot(w, d**2, axes=1) - error**2 / weight)

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both parts together."""
        weight = self.weight + other.weight
        share = jnp.where(
            weight > 0, other.weight / jnp.where(weight > 0, weight, 1.0), 0.0
        )
        gap = other.mean - self.mean
        squares = self.squares + other.squares + self.weight * share * gap**2
        return Moments(weight, self.mean + share * gap, squares)

    def variance(self, freedom: float | int = 0) -> Float[Array, "..."]:
        """S / (W − freedom): 0 for maximum likelihood, 1 for the sample variance."""
        return self.squares / (self.weight - freedom)


def autocorrelation(y: Float[Array, " n"], lag: int = 1) -> Float[Array, ""]:
    r"""The autocorrelation of a series at a lag l.

    $$\sum_i (y_i - \bar y)(y_{i+l} - \bar y) \,/ \sum_i (y_i - \bar y)^2$$
    """
    moments = Moments.of(y, jnp.ones_like(y))
    d = y - moments.mean
    return jnp.sum(d[:-lag] * d[lag:]) / moments.squares
