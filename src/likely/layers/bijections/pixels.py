r"""Pixels between 0 and L as numbers on the whole line."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp

from likely.layers.bijections.bijection import AbstractBijection, row_sums

MARGIN = 1e-6
"""α: how far from 0 and 1 the argument of the logit stays."""


class PixelLogit(AbstractBijection):
    r"""$z = \operatorname{logit}(α + (1 - 2α)\,x/L)$ for x between 0 and L.

    Args:
        levels: L.
        margin: α.
    """

    levels: int = eqx.field(static=True)
    margin: float = eqx.field(static=True, default=MARGIN)

    def forward(self, X, given=None, *, key=None):
        inner = 1 - 2 * self.margin
        y = self.margin + inner * X / self.levels
        Z = jnp.log(y) - jnp.log1p(-y)
        slope = math.log(inner / self.levels) - jnp.log(y) - jnp.log1p(-y)
        return Z, row_sums(slope)

    def inverse(self, Z, given=None):
        y = jax.nn.sigmoid(Z)
        return (y - self.margin) / (1 - 2 * self.margin) * self.levels
