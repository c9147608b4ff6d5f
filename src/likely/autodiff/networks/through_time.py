r"""Backpropagation through time: the gradient of a recurrent network by time step.

For $h_t = \text{cell}(θ, h_{t-1}, x_t)$ and a loss $L = \sum_t L_t(h_t)$,

$$\frac{\partial L}{\partial θ} = \sum_{t} \frac{\partial L_t}{\partial h_t} \sum_{s \le t}
  \Bigl[\, \prod_{k=s+1}^{t} \frac{\partial h_k}{\partial h_{k-1}} \Bigr]
  \frac{\partial^+ h_s}{\partial θ},$$

where $\partial^+$ holds $h_{s-1}$ fixed. The product of t − s Jacobians is why gradients
vanish or explode with the distance in time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from likely.autodiff.program.text import number, table
from likely.core.precision import float64


@dataclass(frozen=True)
class ThroughTime:
    """The gradient of a recurrent network, split by time of loss and time of use."""

    losses: np.ndarray
    """The losses L_t ~ (T,)."""
    states: np.ndarray
    """The states h_t ~ (T, d)."""
    parts: np.ndarray = field(repr=False)
    """The part of ∂L_t/∂θ through step s ~ (T, T, p): zero for s > t."""
    carried: np.ndarray = field(repr=False)
    """The spectral norm ‖∂h_t/∂h_s‖ ~ (T, T): zero for s > t."""
    unravel: Callable = field(repr=False)

    @property
    def gradient(self) -> Any:
        """The gradient ∂L/∂θ, shaped like θ: the sum of all parts."""
        with float64():
            whole = self.unravel(jnp.asarray(self.parts.sum(axis=(0, 1))))
            return jax.tree.map(np.asarray, whole)

    def __str__(self) -> str:
        steps = len(self.losses)
        sizes = np.linalg.norm(self.parts, axis=-1)
        rows = [
            (
                f"L{t + 1}",
                *(number(sizes[t, s], 3) if s <= t else "" for s in range(steps)),
            )
            for t in range(steps)
        ]
        head = ("loss", *(f"by way of step {s + 1}" for s in range(steps)))
        return table(head, rows) + "\nsize of each part of ∂L/∂θ"

    __repr__ = __str__


def through_time(
    cell: Callable, loss: Callable, theta: Any, *, start: Any, inputs: Any, targets: Any
) -> ThroughTime:
    """Run a recurrent cell and split its gradient by time of loss and time of use.

    Args:
        cell: a function of (θ, h, x) to the next h ~ (d,).
        loss: a function of (θ, h, y) to a number, at each time; its direct dependence on θ
            is counted at s = t.
        theta: the parameters, any pytree.
        start: the state h before the first step ~ (d,).
        inputs: the inputs x_t; the first axis is time.
        targets: the targets y_t; the first axis is time.
    """
    with float64():
        theta = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), theta)
        flat, unravel = ravel_pytree(theta)

        def step(h, now):
            return _step(cell, loss, unravel, flat, (h, *now))

        data = jnp.asarray(inputs), jnp.asarray(targets)
        start = jnp.asarray(start, jnp.float64)
        run = jax.jit(lambda h, data: jax.lax.scan(step, h, data)[1])
        states, losses, *slopes = map(np.asarray, run(start, data))
    parts, carried = _parts(*slopes)
    return ThroughTime(losses, states, parts, carried, unravel)


def _step(cell: Callable, loss: Callable, unravel: Callable, flat: Any, now: Any):
    """One time step: the state, the loss, and the derivatives of both."""
    h, x, y = now

    def next_state(p, h):
        return cell(unravel(p), h, x)

    def loss_now(p, h):
        return loss(unravel(p), h, y)

    after = next_state(flat, h)
    by_theta, by_state = jax.jacobian(next_state, argnums=(0, 1))(flat, h)
    value, (direct, adjoint) = jax.value_and_grad(loss_now, argnums=(0, 1))(flat, after)
    return after, (after, value, by_theta, by_state, direct, adjoint)


def _parts(
    by_theta: np.ndarray, by_state: np.ndarray, direct: np.ndarray, adjoint: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of ∂L_t/∂θ through step s, and the norms of the Jacobians from s to t."""
    steps, width, size = by_theta.shape
    parts, carried = np.zeros((steps, steps, size)), np.zeros((steps, steps))
    for t in range(steps):
        product = np.eye(width)
        for s in range(t, -1, -1):  # ∏ ∂h_k/∂h_{k-1}, k = s+1 ... t, latest on the left
            parts[t, s] = adjoint[t] @ product @ by_theta[s]
            carried[t, s] = np.linalg.norm(product, ord=2)
            product = product @ by_state[s]
        parts[t, t] += direct[t]
    return parts, carried
