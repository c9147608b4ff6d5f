r"""BFGS: the quasi-Newton method with a dense inverse Hessian.

After a step $s = x_{t+1} - x_t$ with $y = g_{t+1} - g_t$ the approximation $C \approx H^{-1}$
becomes the nearest symmetric matrix (in a weighted norm) with $Cy = s$:

$$C \leftarrow (I - ρ s y^\top)\, C\, (I - ρ y s^\top) + ρ s s^\top, \qquad ρ = 1/s^\top y.$$

It holds p² numbers; for many parameters `LBFGS` keeps pairs of vectors instead.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.solvers.second_order.descent import AbstractDescent, Proposal, Rules
from likely.solvers.second_order.lbfgs import initial_step, positive_curvature
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class InverseHessian(NamedTuple):
    """The approximation of the inverse Hessian, and whether it is still the initial one."""

    C: Float[Array, "p p"]
    initial: Bool[Array, ""]


class BFGS(AbstractDescent):
    """BFGS on all the data, for a few hundred parameters at most.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger, and none promises a
            visible decrease of the loss.
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
        """The identity matrix."""
        return InverseHessian(jnp.eye(len(x), dtype=x.dtype), jnp.asarray(True))

    def direction(self, memory: InverseHessian, at: Point) -> Proposal:
        """The direction −C g."""
        return Proposal(-(memory.C @ at.g), initial_step(memory.initial, at.g))

    def learn(self, memory: InverseHessian, old: Point, new: Point) -> InverseHessian:
        """The update, where sᵀy > 0; the first one also sets the scale."""
        s, y = new.x - old.x, new.g - old.g
        good = positive_curvature(s, y)
        rho = 1 / jnp.where(good, s @ y, 1.0)
        y2 = jnp.where(good, y @ y, 1.0)
        C = jnp.where(memory.initial, memory.C / (rho * y2), memory.C)
        left = jnp.eye(len(s), dtype=s.dtype) - rho * jnp.outer(s, y)
        updated = left @ C @ left.T + rho * jnp.outer(s, s)
        C = jnp.where(good, updated, memory.C)
        return InverseHessian(C, memory.initial & ~good)
