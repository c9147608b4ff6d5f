r"""Coordinate ascent: one block of variables at a time.

$$θ_b \leftarrow \arg\min_{θ_b} f(θ_1, \dots, θ_b, \dots), \qquad
  b = 1, 2, \dots, 1, 2, \dots$$

The blocks are the arrays of the model, in order; each is minimised by another solver
while the others are fixed. Every sweep lowers f (raises −f: hence "ascent" of a
likelihood). Where f is not differentiable it can stop before the minimum.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    trace_capacity,
    value_and_gradient,
)
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.second_order.lbfgs import LBFGS
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import GRADIENT, PARAMETERS, RUNNING, Batch, Solution, Solver, State


class BlockCoordinate(AbstractFullBatch):
    """Minimise over one array of the model at a time.

    Args:
        solver: for each block; L-BFGS if not given.
        max_sweeps: the limit on the number of sweeps over all blocks.
        tolerance: stop when no entry of the gradient is larger.
        path: whether the trace keeps the parameters after each sweep.
    """

    solver: Solver = eqx.field(default_factory=LBFGS)
    max_sweeps: Whole = whole(100)
    tolerance: Real = real(1e-6)
    path: bool = eqx.field(static=True, default=False, kw_only=True)

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return trace_capacity(self.max_sweeps)

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Sweeps over the blocks until there is a reason to stop."""
        params, static = eqx.partition(model, eqx.is_inexact_array)
        leaves, treedef = jax.tree.flatten(params)
        x, rebuild = flatten(model)
        evaluate = value_and_gradient(objective, rebuild, data, key)

        def flat(leaves: list[Array]) -> Float[Array, " p"]:
            return flatten(jax.tree.unflatten(treedef, leaves))[0]

        def evaluated(
            leaves: list[Array], state: State, moved: Array | float
        ) -> _Point:
            (f, _), g = evaluate(flat(leaves), state)
            return _Point(leaves, state, f, max_abs(g), jnp.asarray(moved, f.dtype))

        def sweep(k, at: _Point):
            leaves, state = list(at.leaves), at.state
            for i in range(len(leaves)):
                block = _Block(objective, leaves, i, treedef, static)
                found = self.solver.minimize(
                    block, leaves[i], data, key=key, state=state
                )
                leaves[i], state = found.model, found.state
            moved = max_abs(flat(leaves) - flat(at.leaves))
            new = evaluated(leaves, state, moved)
            stays = moved == 0, PARAMETERS
            level = new.gradient <= self.tolerance, GRADIENT
            reason = reason_to_stop(k + 1, self.max_sweeps, new.f, stays, level)
            return k + 1, reason, new, (at.f, at.gradient, at.moved, flat(at.leaves))

        start = evaluated(leaves, state, jnp.nan)
        trace = empty_trace(capacity, start.f.dtype, x if self.path else None)
        run = iterate(sweep, start, RUNNING, trace)
        last, x = run.at, flat(run.at.leaves)
        value = jnp.where(run.reason == PARAMETERS, last.moved, last.gradient)
        run = run.record(last.f, last.gradient, jnp.nan, x)
        return run.solution(x, rebuild, last.state, last.f, value)


class _Block(eqx.Module):
    """The objective as a function of one leaf, with the others fixed."""

    objective: Any
    leaves: list[Array]
    index: int = eqx.field(static=True)
    treedef: Any = eqx.field(static=True)
    static: PyTree

    def __call__(self, leaf, batch: Batch, *, key=None, state: State = None):
        leaves = [*self.leaves[: self.index], leaf, *self.leaves[self.index + 1 :]]
        model = eqx.combine(jax.tree.unflatten(self.treedef, leaves), self.static)
        return self.objective(model, batch, key=key, state=state)


class _Point(NamedTuple):
    leaves: list[Array]
    state: State
    f: Float[Array, ""]
    gradient: Float[Array, ""]
    moved: Float[Array, ""]
    """The largest change of a parameter in the sweep that led here."""
