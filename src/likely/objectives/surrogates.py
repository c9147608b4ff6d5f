r"""Surrogate losses: functions of the margin that are not likelihoods.

Labels are y ∈ {−1, +1} and the margin is $m = y f(x)$, positive if and only if the sign of
f is right. The 0/1 loss has no useful gradient; hinge and logistic (in bits) are convex
upper bounds of it. Only logistic is also a likelihood, that of `families.Bernoulli`.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.objectives.priors import AbstractPrior
from likely.objectives.rows import Normalisation
from likely.typing import Batch, Key, Model, State


def margin(f: Float[Array, "*n"], y: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The margin y·f(x), positive if and only if the sign of f is right.

    Examples:
        >>> import jax.numpy as jnp
        >>> lk.objectives.margin(jnp.array([-2.0, 0.5]), jnp.array([-1.0, -1.0]))
        Array([ 2. , -0.5], dtype=float32)
    """
    return y * f


def zero_one(m: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The 0/1 loss: 1 where the margin is not positive; its gradient is 0 almost everywhere.

    Examples:
        >>> import jax.numpy as jnp
        >>> lk.objectives.zero_one(jnp.array([-1.0, 0.5]))
        Array([1., 0.], dtype=float32)
    """
    return (m <= 0).astype(m.dtype)


def hinge(m: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The hinge loss max(0, 1 − m), with a subgradient at the kink m = 1.

    Examples:
        >>> import jax.numpy as jnp
        >>> lk.objectives.hinge(jnp.array([-1.0, 0.5, 2.0]))
        Array([2. , 0.5, 0. ], dtype=float32)
    """
    return jnp.maximum(0.0, 1 - m)


def logistic(m: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The logistic loss log(1 + e^−m), in nats.

    Examples:
        >>> import jax.numpy as jnp
        >>> lk.objectives.logistic(jnp.array([0.0])).round(3)
        Array([0.693], dtype=float32)
    """
    return jax.nn.softplus(-m)


class SurrogateLoss(eqx.Module):
    """The weighted mean of a loss of the margin, plus a penalty; labels are ±1.

    There is no distribution: the fitted model predicts signs, not probabilities.
    """

    loss: Callable[[Array], Array]
    prior: AbstractPrior | None
    rows: Normalisation

    @classmethod
    def of(
        cls,
        loss: Callable[[Array], Array],
        data: Batch,
        prior: AbstractPrior | None = None,
    ) -> "SurrogateLoss":
        """The objective for these data."""
        return cls(loss, prior, Normalisation.of(data))

    def pointwise(self, eta: Float[Array, "n k"], y: Array) -> Float[Array, " n"]:
        """The loss of each row."""
        if eta.shape != (len(y), 1):
            raise InputError(
                f"the model gives η of shape {eta.shape}, but a margin needs shape "
                f"{(len(y), 1)}; give the model one output."
            )
        return self.loss(margin(eta[:, 0], y))

    def penalty(self, model: Model) -> Float[Array, ""]:
        """−log p(φ) / Σw."""
        return self.rows.penalty(self.prior, model)

    def __call__(
        self, model: Model, batch: Batch, *, key: Key | None = None, state: State = None
    ) -> tuple[Float[Array, ""], State]:
        """The objective: loss and penalty."""
        eta, state = model(batch.x, w=batch.w, key=key, state=state)
        loss = self.rows.mean(self.pointwise(eta, batch.y), batch.w)
        return loss + self.penalty(model), state
