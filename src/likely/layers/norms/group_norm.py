r"""Group normalisation: over the positions and a group of channels of one row."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.layer import AbstractLayer


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
        wide = jnp.promote_types(X.dtype, jnp.float32)
        rows = X.astype(wide).reshape(len(X), -1, X.shape[-1])
        scale, shift = (a.astype(wide)[None, None] for a in (self.scale, self.shift))
        Z = standardize_groups(rows, self.groups, self.epsilon) * scale + shift
        return Z.astype(X.dtype).reshape(X.shape)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def standardize_groups(
    X: Float[Array, "n p c"], groups: int, epsilon: float
) -> Float[Array, "n p c"]:
    r"""$z = (x - m)\,r$ by groups of channels; its derivative is that of `standardize`."""
    return _standardized(X, groups, epsilon)[0]


@standardize_groups.defjvp
def _standardize_groups_jvp(groups, epsilon, primals, tangents):
    (X,), (t,) = primals, tangents
    z, r = _standardized(X, groups, epsilon)
    return z, r * (t - _means(t, groups) - z * _means(z * t, groups))


def _standardized(X, groups, epsilon):
    m = _means(X, groups)
    r = jax.lax.rsqrt(_means((X - m) ** 2, groups) + epsilon)
    return (X - m) * r, r


def _means(X: Float[Array, "n p c"], groups: int) -> Float[Array, "n 1 c"]:
    """The mean of the group of each channel, by products of matrices, which copy nothing."""
    _, p, c = X.shape
    size = c // groups
    of_group = np.kron(np.eye(groups), np.full((size, size), 1 / (p * size)))
    sums = X.sum(1, keepdims=True)
    return sums @ jnp.asarray(of_group, X.dtype)
