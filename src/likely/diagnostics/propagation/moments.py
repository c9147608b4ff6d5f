r"""Moments of an activation under normal inputs: $E[φ(\sqrt v z)^2]$ and $E[φ'(\sqrt v z)^2]$.

For a ReLU they are $v/2$ and ½, whatever the width of the layers is; for others the integrals are
sums on a fine grid of z, symmetric about 0, where most kinks are.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.compiling import lean_jit
from likely.core.precision import float64

REACH, POINTS = 12.0, 4000


class ActivationMoments(NamedTuple):
    """Of an activation, as functions of the variance of its input."""

    layer: Any

    def __call__(
        self, variance: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The mean squares of the output and of the slope."""
        z = np.linspace(-REACH, REACH, POINTS)
        weights = np.exp(-0.5 * z**2)
        weights /= weights.sum()
        s = np.sqrt(variance)[:, None] * z
        value, slope = values_and_slopes(self.layer, s)
        return (value**2) @ weights, (slope**2) @ weights


def values_and_slopes(layer: Any, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An activation and its derivative at each entry, in double precision.

    Args:
        layer: an activation layer; one with a parameter for each unit needs the last axis.
        s: its inputs.
    """
    with float64():
        value, slope = _both(layer, jnp.asarray(s, jnp.float64))
        return np.asarray(value), np.asarray(slope)


@lean_jit
def _both(layer: Any, s: Array) -> tuple[Array, Array]:
    return jax.jvp(lambda a: layer(a)[0], (s,), (jnp.ones_like(s),))
