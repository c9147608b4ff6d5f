r"""Steepest descent with a line search: along −g, as far as the search says.

On a quadratic of condition κ an exact search shrinks $f - f^*$ by
$\bigl(\frac{κ-1}{κ+1}\bigr)^2$ a step, in a zigzag of right angles.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.solvers.second_order.descent import AbstractDescent, Plan, Rules
from likely.solvers.second_order.lbfgs import first_step
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class LastStep(NamedTuple):
    """How far the last step went: the first guess for the next."""

    length: Float[Array, ""]
    fresh: Bool[Array, ""]


class SteepestDescent(AbstractDescent):
    """Along the negative gradient with a line search, on all the data.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger.
        search: the line search, "golden", "backtracking" or "wolfe".
        path: whether the trace keeps the parameters of each step.
    """

    rules: Rules

    def __init__(
        self,
        max_steps: int | Whole = 1000,
        tolerance: float | Real = 1e-6,
        *,
        search: str = "golden",
        path: bool = False,
    ):
        self.rules = Rules(max_steps, tolerance, search, path)

    def init(self, x: Float[Array, " p"]) -> LastStep:
        """Nothing known."""
        return LastStep(jnp.zeros((), x.dtype), jnp.asarray(True))

    def direction(self, memory: LastStep, at: Point) -> Plan:
        """−g."""
        length = jnp.maximum(jnp.linalg.norm(at.g), jnp.finfo(at.g.dtype).tiny)
        guess = (
            2 * memory.length / length
        )  # backtracking could not grow again otherwise
        t = jnp.where(memory.fresh, first_step(memory.fresh, at.g), guess)
        return Plan(-at.g, t)

    def learn(self, memory: LastStep, old: Point, new: Point) -> LastStep:
        """The way of the last step."""
        return LastStep(jnp.linalg.norm(new.x - old.x), jnp.asarray(False))
