r"""Noise in training: on inputs, weights or targets. In use there is none.

Small Gaussian noise on the inputs of least squares is, in expectation, a penalty
$\tfrac12 σ^2\lVert\nabla_x f\rVert^2$ on the slope of the model (for a linear model: ridge);
noise on the weights prefers flat minima. Flipped labels keep a classifier from certainty.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from likely.core.checks import InputError
from likely.solvers.settings import Real, real
from likely.typing import Batch, Key


@runtime_checkable
class Disturbance(Protocol):
    """What changes the parameters and the rows of a step, at random."""

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """Those of one step, disturbed."""
        ...


class Noise(eqx.Module):
    """What is disturbed, and how much.

    Args:
        inputs: standard deviation of what is added to each input.
        weights: standard deviation of what is added to each parameter.
        targets: standard deviation of what is added to each target.
        flips: probability that a label becomes a random one of the `classes`.
        classes: how many there are, where labels are flipped.
    """

    inputs: Real = real(0.0)
    weights: Real = real(0.0)
    targets: Real = real(0.0)
    flips: Real = real(0.0)
    classes: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        known = self.classes is not None or isinstance(self.flips, jax.Array)
        if not known and float(self.flips) > 0:
            raise InputError(
                "labels can only be flipped if it is known how many classes there are; "
                "give Noise(flips=..., classes=...)."
            )

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the batch of one step, disturbed."""
        k_x, k_w, k_y, k_flip, k_label = jax.random.split(key, 5)
        params = _added(params, self.weights, k_w)
        x, y = _added(batch.x, self.inputs, k_x), _added(batch.y, self.targets, k_y)
        if self.classes is not None:
            flip = jax.random.bernoulli(k_flip, jnp.asarray(self.flips), y.shape)
            label = jax.random.randint(k_label, y.shape, 0, self.classes)
            y = jnp.where(flip, label.astype(y.dtype), y)
        return params, Batch(x, y, batch.w)


def _added(tree: PyTree, scale: Any, key: Key) -> PyTree:
    """Every inexact leaf with noise of this standard deviation on it."""
    leaves, treedef = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves)) if leaves else []

    def one(a: Array, k: Key) -> Array:
        if not jnp.issubdtype(a.dtype, jnp.inexact):
            return a
        return a + jnp.asarray(scale, a.dtype) * jax.random.normal(k, a.shape, a.dtype)

    return treedef.unflatten([one(a, k) for a, k in zip(leaves, keys, strict=True)])
