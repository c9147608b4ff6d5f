r"""BFGS: the quasi-Newton method that keeps a whole inverse Hessian.

After a step $s = x_{t+1} - x_t$ with $y = g_{t+1} - g_t$ the approximation $C \approx H^{-1}$
becomes the nearest symmetric matrix (in a weighted norm) with $Cy = s$:

$$C \leftarrow (I - ρ s y^\top)\, C\, (I - ρ y s^\top) + ρ s s^\top, \qquad ρ = 1/s^\top y.$$

It costs p² numbers; for many parameters `LBFGS` remembers pairs instead.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.solvers.second_order.descent import AbstractDescent, Plan, Rules
from likely.solvers.second_order.lbfgs import curves_upwards, first_step
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class InverseHessian(NamedTuple):
    """The approximation, and whether it has learned anything yet."""

    C: Float[Array, "p p"]
    fresh: Bool[Array, ""]


class BFGS(AbstractDescent):
    """BFGS on all the data, for a few hundred parameters at most.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger.
        search: the line search, "wolfe", "backtracking" or "golden".
        path: whether the trace keeps the parameters of each step.
    """

    rules: Rules

    def __init__(
        self,
        max_steps: int | Whole = 500,
        tolerance: float | Real = 1e-8,
        *,
        search: str = "wolfe",
        path: bool = False,
    ):
        self.rules = Rules(max_steps, tolerance, search, path)

    def init(self, x: Float[Array, " p"]) -> InverseHessian:
        """The identity."""
        return InverseHessian(jnp.eye(len(x), dtype=x.dtype), jnp.asarray(True))

    def direction(self, memory: InverseHessian, at: Point) -> Plan:
        """−C g."""
        return Plan(-(memory.C @ at.g), first_step(memory.fresh, at.g))

    def learn(self, memory: InverseHessian, old: Point, new: Point) -> InverseHessian:
        """The update, where the pair curves upwards; the first also sets the scale."""
        s, y = new.x - old.x, new.g - old.g
        good = curves_upwards(s, y)
        rho = 1 / jnp.where(good, s @ y, 1.0)
        y2 = jnp.where(good, y @ y, 1.0)
        C = jnp.where(memory.fresh, memory.C / (rho * y2), memory.C)
        left = jnp.eye(len(s), dtype=s.dtype) - rho * jnp.outer(s, y)
        updated = left @ C @ left.T + rho * jnp.outer(s, s)
        C = jnp.where(good, updated, memory.C)
        return InverseHessian(C, memory.fresh & ~good)
