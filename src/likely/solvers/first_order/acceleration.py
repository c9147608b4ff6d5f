r"""Nesterov's accelerated rule: momentum that grows with the steps.

$$x_{t+1} = y_t - η\,\nabla f(y_t), \qquad y_{t+1} = x_{t+1} + \frac{t}{t+3}\,(x_{t+1} - x_t),$$

from $y_0 = x_0$. With η = 1/L on a convex function $f(x_t) - f^* \le 2L\lVert
x_0-x^*\rVert^2/(t+1)^2$, a rate that no method of gradients alone improves by more than a
constant.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree


class AccelerationState(NamedTuple):
    """The number of steps so far, and the last change of x."""

    step: Int[Array, ""]
    change: PyTree


def accelerate(rate: Float[Array, ""]) -> optax.GradientTransformation:
    """From gradients at y to changes of y.

    Args:
        rate: η, at most 1/L.
    """

    def init(params: PyTree) -> AccelerationState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AccelerationState(jnp.zeros((), jnp.int32), zeros)

    def update(updates: PyTree, state: Any, params: PyTree = None) -> tuple[Any, Any]:
        t, g = state.step.astype(rate.dtype), updates
        before = jnp.where(t > 0, (t - 1) / (t + 2), 0.0)
        change = jax.tree.map(lambda g, v: before * v - rate * g, g, state.change)
        ahead = t / (t + 3)
        moves = jax.tree.map(lambda g, v: ahead * v - rate * g, g, change)
        return moves, AccelerationState(state.step + 1, change)

    return optax.GradientTransformation(init, update)
