r"""L-BFGS: the quasi-Newton method that remembers the last few steps.

The inverse Hessian is never formed; its product with the gradient comes from the
last m pairs $s = x_{t+1} - x_t$, $y = g_{t+1} - g_t$ by the two-loop recursion.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.solvers.second_order.descent import AbstractDescent, Plan, Rules
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class Pairs(NamedTuple):
    """The last m steps s, changes of gradient y, ρ = 1/sᵀy, and how many there were."""

    S: Float[Array, "m p"]
    Y: Float[Array, "m p"]
    rho: Float[Array, " m"]
    count: Int[Array, ""]


class LBFGS(AbstractDescent):
    """Limited-memory BFGS on all the data.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger.
        memory: how many pairs are remembered.
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
        blank = jnp.zeros((self.memory, len(x)), x.dtype)
        return Pairs(blank, blank, blank[:, 0] * 0, jnp.asarray(0))

    def direction(self, memory: Pairs, at: Point) -> Plan:
        """Minus the implied inverse Hessian times the gradient."""
        return Plan(-_two_loop(memory, at.g), first_step(memory.count == 0, at.g))

    def learn(self, memory: Pairs, old: Point, new: Point) -> Pairs:
        """Remember the pair if it curves upwards, in place of the oldest."""
        s, y = new.x - old.x, new.g - old.g
        good = curves_upwards(s, y)
        j = jnp.where(good, memory.count % self.memory, self.memory)  # m: dropped
        return Pairs(
            memory.S.at[j].set(s, mode="drop"),
            memory.Y.at[j].set(y, mode="drop"),
            memory.rho.at[j].set(1 / jnp.where(good, s @ y, 1.0), mode="drop"),
            memory.count + good,
        )


def first_step(fresh: Array, g: Float[Array, " p"]) -> Float[Array, ""]:
    """1, but no longer than a unit way where nothing is known of the scale."""
    unit = 1 / jnp.maximum(jnp.linalg.norm(g), jnp.finfo(g.dtype).tiny)
    return jnp.where(fresh, jnp.minimum(1.0, unit), 1.0)


def curves_upwards(s: Float[Array, " p"], y: Float[Array, " p"]) -> Array:
    """Whether a pair is that of a positive curvature, beyond rounding."""
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
