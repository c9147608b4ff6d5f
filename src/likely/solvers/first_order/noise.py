r"""Noise in training: on inputs, weights or targets. Predictions have none.

Small Gaussian noise on the inputs of least squares is, in expectation, a penalty
$\tfrac12 σ^2\lVert\nabla_x f\rVert^2$ on the gradient of the model (for a linear model: ridge);
noise on the weights prefers flat minima. Flipped labels keep a classifier from overconfidence.
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
class Perturbation(Protocol):
    """A random change of the parameters and the rows of a step."""

    def __call__(self, params: PyTree, batch: Batch, key: Key) -> tuple[PyTree, Batch]:
        """The parameters and the batch of one step, changed at random."""
        ...


class Noise(eqx.Module):
    """Gaussian noise on inputs, parameters and targets, and random labels.

    Args:
        inputs: standard deviation of the noise on each input.
        weights: standard deviation of the noise on each parameter.
        targets: standard deviation of the noise on each target.
        flips: probability that a label becomes a random one of the `classes`.
        classes: number of classes, where labels are flipped.
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
        """The parameters and the batch of one step, with noise."""
        k_x, k_w, k_y, k_flip, k_label = jax.random.split(key, 5)
        params = _add_noise(params, self.weights, k_w)
        x = _add_noise(batch.x, self.inputs, k_x)
        y = _add_noise(batch.y, self.targets, k_y)
        if self.classes is not None:
            flip = jax.random.bernoulli(k_flip, jnp.asarray(self.flips), y.shape)
            label = jax.random.randint(k_label, y.shape, 0, self.classes)
            y = jnp.where(flip, label.astype(y.dtype), y)
        return params, Batch(x, y, batch.w)


def _add_noise(tree: PyTree, scale: Any, key: Key) -> PyTree:
    """Every inexact leaf with noise of this standard deviation added."""
    leaves, treedef = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves)) if leaves else []

    def one(a: Array, k: Key) -> Array:
        if not jnp.issubdtype(a.dtype, jnp.inexact):
            return a
        return a + jnp.asarray(scale, a.dtype) * jax.random.normal(k, a.shape, a.dtype)

    return treedef.unflatten([one(a, k) for a, k in zip(leaves, keys, strict=True)])
