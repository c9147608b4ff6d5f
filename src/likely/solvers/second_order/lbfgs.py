r"""L-BFGS: the quasi-Newton method that keeps the last few steps.

The inverse Hessian is never formed; its product with the gradient comes from the
last m pairs $s = x_{t+1} - x_t$, $y = g_{t+1} - g_t$ by the two-loop recursion.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.solvers.second_order.descent import AbstractDescent, Proposal, Rules
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class Pairs(NamedTuple):
    """The last m steps s, changes of gradient y, ρ = 1/sᵀy, and the number of pairs."""

    S: Float[Array, "m p"]
    Y: Float[Array, "m p"]
    rho: Float[Array, " m"]
    count: Int[Array, ""]


class LBFGS(AbstractDescent):
    """Limited-memory BFGS on all the data.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger, and none promises a
            visible decrease of the loss.
        memory: the number of pairs that are kept.
        search: the line search, "wolfe", "backtracking" or "golden".
        path: whether the trace keeps the parameters of each step.
    """

    rules: Rules
    memory: int = eqx.field(static=True)

    def __init__(
        self,
        max_steps: int | Whole = 500,
        tolerance: float | Real = 1e-8,
        memory: int = 10,
        *,
        search: str = "wolfe",
        path: bool = False,
    ):
        self.rules = Rules(max_steps, tolerance, search, path)
        self.memory = memory

    def init(self, x: Float[Array, " p"]) -> Pairs:
        """No pairs yet."""
        zeros = jnp.zeros((self.memory, len(x)), x.dtype)
        return Pairs(zeros, zeros, zeros[:, 0], jnp.asarray(0))

    def direction(self, memory: Pairs, at: Point) -> Proposal:
        """The direction −C g, with C the implied inverse Hessian."""
        return Proposal(-_two_loop(memory, at.g), initial_step(memory.count == 0, at.g))

    def learn(self, memory: Pairs, old: Point, new: Point) -> Pairs:
        """Keep the pair if sᵀy > 0, in place of the oldest."""
        s, y = new.x - old.x, new.g - old.g
        good = positive_curvature(s, y)
        j = jnp.where(good, memory.count % self.memory, self.memory)  # m: dropped
        return Pairs(
            memory.S.at[j].set(s, mode="drop"),
            memory.Y.at[j].set(y, mode="drop"),
            memory.rho.at[j].set(1 / jnp.where(good, s @ y, 1.0), mode="drop"),
            memory.count + good,
        )


def initial_step(unscaled: Array, g: Float[Array, " p"]) -> Float[Array, ""]:
    """The step size 1, or less for a step of unit length where no scale is known."""
    unit = 1 / jnp.maximum(jnp.linalg.norm(g), jnp.finfo(g.dtype).tiny)
    return jnp.where(unscaled, jnp.minimum(1.0, unit), 1.0)


def positive_curvature(s: Float[Array, " p"], y: Float[Array, " p"]) -> Array:
    """Whether sᵀy > 0 beyond rounding."""
    eps = jnp.finfo(s.dtype).eps
    return s @ y > eps * jnp.sqrt((s @ s) * (y @ y))


def _two_loop(memory: Pairs, g: Float[Array, " p"]) -> Float[Array, " p"]:
    """The product of the implied inverse Hessian with the gradient."""
    S, Y, rho, count = memory
    m, newest = len(rho), count - 1

    def backward(i, carry):
        q, a = carry
        j = (newest - i) % m
        a_j = jnp.where(i < count, rho[j] * (S[j] @ q), 0.0)
        return q - a_j * Y[j], a.at[j].set(a_j)

    q, a = jax.lax.fori_loop(0, m, backward, (g, jnp.zeros_like(rho)))
    j = newest % m
    y2 = Y[j] @ Y[j]
    gamma = jnp.where(count > 0, 1 / jnp.where(y2 > 0, rho[j] * y2, 1.0), 1.0)

    def forward(i, r):
        j = (newest - (m - 1 - i)) % m
        b = rho[j] * (Y[j] @ r)
        return r + jnp.where(m - 1 - i < count, a[j] - b, 0.0) * S[j]

    return jax.lax.fori_loop(0, m, forward, gamma * q)
