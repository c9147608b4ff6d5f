r"""The loss of a model on fixed rows as a function of its weights.

$$L_D(φ) = \frac{\sum_i w_i\,l_i(φ)}{\sum_i w_i}, \qquad l_i(φ) = -\log p(y_i \mid f(x_i; φ)),$$

in nats per unit of weight, without the prior. Of a network that scales its target it is the loss
on the scaled target, the one that training minimised. Weights of zero leave rows out, so the
loss on a part of the rows is the same function with other weights.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from likely.core.precision import precision_of
from likely.solvers.flat import flatten, reuse_key
from likely.typing import Batch, Key, State


class NetworkLosses(eqx.Module):
    """The loss of each row by a network."""

    objective: Any
    """With `pointwise(eta, y)`."""
    state: State
    """Running statistics."""
    key: Key | None
    """For the network as in training: dropout, statistics of the rows. None: as in use."""

    def __call__(self, model: Any, batch: Batch) -> Float[Array, " n"]:
        """−log p(yᵢ | f(xᵢ))."""
        key = reuse_key(self.key)
        eta, _ = model(batch.x, w=batch.w, key=key, state=self.state)
        return self.objective.pointwise(eta, batch.y)


class LearnerLosses(eqx.Module):
    """The loss of each row by any learner whose φ has a model inside."""

    learner: Any
    phi: Any

    def __call__(self, model: Any, batch: Batch) -> Float[Array, " n"]:
        """−log p(yᵢ | xᵢ)."""
        phi = eqx.tree_at(lambda phi: phi.model, self.phi, model)
        return self.learner.losses(phi, batch)


class LossSurface(eqx.Module):
    """A model, rows, and the loss of the rows as a function of the model's weights.

    Weights are one vector: the inexact array leaves of the model, one after another. The
    methods whose names say so take that vector; they compute in the precision of the model and
    return NumPy arrays.
    """

    model: Any
    """The model at the centre."""
    losses_of: Any
    """From a model and a batch to the loss of each row."""
    data: Batch
    """The rows in equal parts, leading axis: as many at once as memory allows."""
    names: tuple[str, ...] | None = eqx.field(static=True, default=None)
    """The names of the weights, where they have some."""

    @property
    def center(self) -> Float[np.ndarray, " p"]:
        """The weights of the model."""
        leaves = jax.tree.leaves(eqx.filter(self.model, eqx.is_inexact_array))
        return np.concatenate([np.ravel(leaf) for leaf in leaves])

    @property
    def n_parameters(self) -> int:
        """The number p of weights."""
        return self.center.size

    @property
    def w(self) -> Float[np.ndarray, " n"]:
        """The weights of all rows, those of padding included, which are 0."""
        return np.ravel(self.data.w)

    def at(self, phi: Float[Array, " p"]) -> Any:
        """The model with these weights."""
        return flatten(self.model)[1](phi)

    def losses(self, phi: Float[Array, " p"]) -> Float[Array, " n"]:
        """The loss of each row at these weights; to be traced."""
        model = self.at(phi)
        if len(self.data.w) == 1:
            return self.losses_of(model, jax.tree.map(lambda a: a[0], self.data))
        part = jax.checkpoint(lambda batch: self.losses_of(model, batch))
        return jax.lax.map(part, self.data).reshape(-1)

    def mean(self, phi: Float[Array, " p"], w: Any = None) -> Float[Array, ""]:
        """The mean loss at these weights, of rows of other weights w if given; to be traced."""
        w = self.data.w.reshape(-1) if w is None else w
        return jnp.where(w > 0, w * self.losses(phi), 0.0).sum() / w.sum()

    def curvature(
        self, phi: Float[Array, " p"], v: Float[Array, " p"]
    ) -> Float[Array, " p"]:
        """H v, by the derivative of the gradient along v; to be traced."""
        return jax.jvp(jax.grad(self.mean), (phi,), (v,))[1]

    # Host side ------------------------------------------------------------------------

    def loss(self, phi: Any = None) -> float:
        """The mean loss at these weights, or at the centre."""
        with precision_of(self.model):
            return float(_mean(self, self._vector(phi)))

    def gradient(self, phi: Any = None) -> Float[np.ndarray, " p"]:
        """The gradient of the mean loss at these weights, or at the centre."""
        with precision_of(self.model):
            return np.asarray(_gradient(self, self._vector(phi)))

    def hessian_product(self, v: Any, phi: Any = None) -> Float[np.ndarray, " p"]:
        """H v at these weights, or at the centre."""
        with precision_of(self.model):
            return np.asarray(_product(self, self._vector(phi), self._vector(v)))

    def _vector(self, phi: Any) -> Array:
        center = self.center
        return jnp.asarray(center if phi is None else phi, center.dtype)


@eqx.filter_jit
def _mean(surface: LossSurface, phi: Array) -> Array:
    return surface.mean(phi)


@eqx.filter_jit
def _gradient(surface: LossSurface, phi: Array) -> Array:
    return jax.grad(surface.mean)(phi)


@eqx.filter_jit
def _product(surface: LossSurface, phi: Array, v: Array) -> Array:
    return surface.curvature(phi, v)


def in_precision(tree: PyTree, dtype: Any) -> PyTree:
    """The tree with its inexact arrays as NumPy arrays of this type."""
    return jax.tree.map(
        lambda a: np.asarray(a, dtype) if eqx.is_inexact_array(a) else a, tree
    )
