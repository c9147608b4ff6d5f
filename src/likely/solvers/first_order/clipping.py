r"""Gradient clipping: bounded steps where the loss is very steep."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from likely.solvers.settings import Real, real

MAX_COPIED_SIZE, MAX_COPIED_SIZE_GPU = 2**14, 2**20
"""Entries up to which copying a leaf costs less than a reduction of its own."""


def joined(tree: PyTree) -> list[Array]:
    """All entries of a tree in few vectors: small leaves are joined."""
    gpu = jax.default_backend() == "gpu"
    most = MAX_COPIED_SIZE_GPU if gpu else MAX_COPIED_SIZE
    leaves = [jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)]
    large = [leaf for leaf in leaves if leaf.size > most]
    small = [leaf for leaf in leaves if leaf.size <= most]
    return [*large, jnp.concatenate(small)] if small else large


def max_abs(tree: PyTree) -> Float[Array, ""]:
    """The largest absolute entry of all leaves."""
    peaks = [jnp.max(jnp.abs(part), initial=0.0) for part in joined(tree)]
    if not peaks:
        return jnp.zeros(())
    return jnp.max(jnp.stack(peaks)) if len(peaks) > 1 else peaks[0]


def norm(g: PyTree) -> Float[Array, ""]:
    """The Euclidean norm of all leaves together; the squares cannot overflow."""
    peak = max_abs(g)
    scale = jnp.where((peak > 0) & jnp.isfinite(peak), peak, 1.0)
    return scale * jnp.sqrt(sum(jnp.sum((part / scale) ** 2) for part in joined(g)))


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
