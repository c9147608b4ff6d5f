r"""Modified losses: what gradient descent with a finite rate really follows.

Steps of size η do not follow gradient flow on L, but, up to an error that is one order smaller, the
flow on

$$\tilde L = L + \frac η4 \lVert\nabla L\rVert^2,$$

and, in the mean over all orders of B batches, stochastic descent that on

$$\tilde L = L + \frac η4 \lVert\nabla L\rVert^2
  + \frac η{4B} \sum_{b=1}^B \lVert\nabla L_b - \nabla L\rVert^2 .$$

The first added term prefers flat places (Barrett and Dherin 2021), the second ones where the
batches agree (Smith, Dherin, Barrett and De 2021).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.core.precision import float64, number
from likely.core.random import seed_of
from likely.diagnostics.dynamics.losses import loss_of
from likely.diagnostics.landscape.surface import LossSurface


class Terms(NamedTuple):
    """The parts of a modified loss."""

    loss: Any
    """L."""
    gradient: Any
    """η/4 ‖∇L‖²."""
    batches: Any
    """η/(4B) Σ ‖∇L_b − ∇L‖², 0 without batches."""

    @property
    def total(self) -> Any:
        """The modified loss."""
        return self.loss + self.gradient + self.batches


class ModifiedLoss(eqx.Module):
    """A loss with the terms that the steps of gradient descent add to it.

    It has the method `mean(φ)`, so that `gradient_flow` takes it, and solvers minimise it.
    """

    base: Any
    """The loss, with the method `mean(φ)`."""
    rate: np.ndarray
    """η."""
    batches: Float[np.ndarray, "b n"] | None
    """The weights of the rows of each batch, or None for the full gradient."""

    def __init__(self, base: Any, rate: Any, batches: Any = None):
        self.base, self.rate, self.batches = base, number(rate), batches

    def terms(self, phi: Float[Array, " p"]) -> Terms:
        """The parts at these weights; to be traced."""
        loss, g = jax.value_and_grad(self.base.mean)(phi)
        flat = 0.25 * self.rate * (g @ g)
        if self.batches is None:
            return Terms(loss, flat, jnp.zeros_like(loss))
        each = self.batch_gradients(phi) - g[None]
        return Terms(loss, flat, 0.25 * self.rate * (each**2).sum() / len(each))

    def mean(self, phi: Float[Array, " p"]) -> Float[Array, ""]:
        """The modified loss; to be traced."""
        return self.terms(phi).total

    def batch_gradients(self, phi: Float[Array, " p"]) -> Float[Array, "b p"]:
        """The gradient of each batch; to be traced."""
        one = jax.grad(lambda phi, w: self.base.mean(phi, w))
        return jax.vmap(one, (None, 0))(phi, jnp.asarray(self.batches))

    def at(self, phi: Any) -> Terms:
        """The parts at these weights, as numbers."""
        with float64():
            return Terms(*map(float, _terms(self, jnp.asarray(phi, jnp.float64))))


@eqx.filter_jit
def _terms(modified: ModifiedLoss, phi: Array) -> Terms:
    return modified.terms(phi)


def modified_loss(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    rate: float | int,
    n_batches: int | None = None,
    random_state: Any = 0,
    **source: Any,
) -> ModifiedLoss:
    """The loss that gradient descent with this rate follows, for any model.

    Args:
        model: what `loss_surface` takes, with rows; or without rows a symmetric matrix or a
            function of a vector with `start`.
        X: inputs.
        y: targets.
        sample_weight: how often each row counts.
        rate: the learning rate η.
        n_batches: B, for stochastic descent on as many batches of rows; None for all rows.
        random_state: the seed of which row is in which batch.
        source: more about the model: see `loss_surface`.
    """
    if not np.isfinite(rate) or rate < 0:
        raise InputError(f"rate is {rate}; give a learning rate of at least 0.")
    loss, _ = loss_of(model, X, y, sample_weight, **source)
    if n_batches is None:
        return ModifiedLoss(loss, rate)
    return ModifiedLoss(loss, rate, batch_weights(loss, n_batches, random_state))


def batch_weights(
    loss: Any, n_batches: int, random_state: Any = 0
) -> Float[np.ndarray, "b n"]:
    """The weights of the rows of each of B batches of equal weight.

    Args:
        loss: a `LossSurface`.
        n_batches: B.
        random_state: the seed of which row is in which batch.
    """
    if not isinstance(loss, LossSurface):
        raise InputError("batches are of rows; give a model with X and y.")
    w = loss.w
    present = np.flatnonzero(w > 0)
    if not 1 < n_batches <= len(present) or len(present) % n_batches:
        raise InputError(
            f"{len(present)} rows are not {n_batches} batches of equal size, which the batch "
            "term supposes; give a divisor of the number of rows, at least 2."
        )
    if np.ptp(w[present]) > 1e-12 * w.max():
        raise InputError(
            "batches of rows with unequal weights have unequal weights themselves, while the "
            "batch term supposes equal ones; leave sample_weight out."
        )
    rng = np.random.default_rng([seed_of(random_state), 1])
    order = rng.permutation(present).reshape(n_batches, -1)
    found = np.zeros((n_batches, len(w)))
    np.put_along_axis(found, order, 1.0, axis=1)
    return found
