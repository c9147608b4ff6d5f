r"""Steepest descent: along −g, with a step size from a line search.

On a quadratic of condition κ an exact search shrinks $f - f^*$ by
$\bigl(\frac{κ-1}{κ+1}\bigr)^2$ a step, in a zigzag of right angles.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from likely.solvers.second_order.descent import AbstractDescent, Proposal, Rules
from likely.solvers.second_order.lbfgs import initial_step
from likely.solvers.second_order.line_search import Point
from likely.solvers.settings import Real, Whole


class LastStep(NamedTuple):
    """The length of the last step, from which the next one starts its search."""

    length: Float[Array, ""]
    none: Bool[Array, ""]
    """Whether there was no step yet."""


class SteepestDescent(AbstractDescent):
    """Along the negative gradient with a line search, on all the data.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger, and none promises a
            visible decrease of the loss.
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
        """No step yet."""
        return LastStep(jnp.zeros((), x.dtype), jnp.asarray(True))

    def direction(self, memory: LastStep, at: Point) -> Proposal:
        """The direction −g."""
        norm = jnp.maximum(jnp.linalg.norm(at.g), jnp.finfo(at.g.dtype).tiny)
        longer = 2 * memory.length / norm  # so that backtracking can grow again
        t = jnp.where(memory.none, initial_step(memory.none, at.g), longer)
        return Proposal(-at.g, t)

    def learn(self, memory: LastStep, old: Point, new: Point) -> LastStep:
        """The length of the step."""
        return LastStep(jnp.linalg.norm(new.x - old.x), jnp.asarray(False))
