r"""Group normalisation: over the positions and a group of channels of one row."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer
from likely.layers.norms.layer_norm import standardize


class GroupNorm(AbstractLayer):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ with m and s² over a group of channels.

    Both are taken over all positions and the (adjacent) channels of the group in one row.
    One group is layer normalisation with a γ and δ for each channel; as many groups as
    channels is instance normalisation. Rows are independent, so there is no state and the
    batch size does not matter.

    Args:
        size: the number of channels, the last axis.
        groups: the number of groups; it has to divide the channels.
        epsilon: ε, added to the variance.
    """

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]
    groups: int = eqx.field(static=True)
    epsilon: float = eqx.field(static=True)

    def __init__(self, size: int, groups: int = 8, *, epsilon: float = 1e-5):
        if groups < 1 or size % groups:
            raise InputError(
                f"{size} channels cannot be cut into {groups} groups; "
                "give a number that divides the channels."
            )
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)
        self.groups, self.epsilon = int(groups), float(epsilon)

    def of(self, X: Float[Array, "n *positions c"]) -> Float[Array, "n *positions c"]:
        """Normalise each group of each row, in at least float32 precision."""
        n, *positions, c = X.shape
        wide = jnp.promote_types(X.dtype, jnp.float32)
        apart = X.astype(wide).reshape(n, -1, self.groups, c // self.groups)
        groups = jnp.moveaxis(apart, 2, 1)  # (n, groups, positions, channels)
        Z = standardize(groups.reshape(n * self.groups, -1), self.epsilon)
        Z = jnp.moveaxis(Z.reshape(groups.shape), 1, 2).reshape(-1, c)
        Z = Z * self.scale.astype(wide)[None] + self.shift.astype(wide)[None]
        return Z.astype(X.dtype).reshape(X.shape)
