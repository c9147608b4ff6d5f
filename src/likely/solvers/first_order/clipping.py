r"""Gradient clipping: bounded steps where the loss is very steep."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from likely.solvers.settings import Real, real


def norm(g: PyTree) -> Float[Array, ""]:
    """The Euclidean norm of all leaves together; the squares cannot overflow."""
    leaves = jax.tree.leaves(g)
    peak = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf), initial=0.0) for leaf in leaves]))
    scale = jnp.where((peak > 0) & jnp.isfinite(peak), peak, 1.0)
    return scale * jnp.sqrt(sum(jnp.sum((leaf / scale) ** 2) for leaf in leaves))


class AbstractClip(eqx.Module):
    """A bound on the gradient."""

    @abstractmethod
    def transform(self) -> optax.GradientTransformation:
        """The Optax transformation, built while tracing."""


class ClipByNorm(AbstractClip):
    r"""$g \min(1, c/\lVert g\rVert)$, which keeps the direction.

    Optax has this rule too; here the norm does not overflow, so that a gradient of
    1e30 in float32 becomes a step of length c and not a step of length 0.
    """

    limit: Real = real()

    def transform(self):
        def clip(g, params):
            shrink = jnp.minimum(1.0, self.limit / jnp.maximum(norm(g), self.limit))
            return jax.tree.map(lambda leaf: shrink.astype(leaf.dtype) * leaf, g)

        return optax.stateless(clip)


class ClipByValue(AbstractClip):
    r"""Each entry of g clipped to [−c, c], which may change the direction."""

    limit: Real = real()

    def transform(self):
        return optax.clip(self.limit)
