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
from jaxtyping import Array, Float, Int, PyTree

from likely.core.rows import fill_absent
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    record,
    trace_capacity,
    unflatten_path,
    value_and_gradient,
)
from likely.solvers.second_order.lbfgs import LBFGS
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import (
    DIVERGED,
    GRADIENT,
    PARAMETERS,
    RUNNING,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    Solver,
    State,
    Status,
    Trace,
)


class BlockCoordinate(eqx.Module):
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

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        capacity = trace_capacity(self.max_sweeps)
        return _minimize(
            self, objective, model, data, key=key, state=state, capacity=capacity
        )


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


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    leaves: list[Array]
    state: State
    f: Float[Array, ""]
    gradient: Float[Array, ""]
    moved: Float[Array, ""]
    trace: Trace


@eqx.filter_jit
def _minimize(solver, objective, model, data, *, key, state, capacity: int) -> Solution:
    data = fill_absent(data)
    params, static = eqx.partition(model, eqx.is_inexact_array)
    leaves, treedef = jax.tree.flatten(params)
    x, rebuild = flatten(model)
    evaluate = value_and_gradient(objective, rebuild, data, key)

    def flat(leaves: list[Array]) -> Float[Array, " p"]:
        return flatten(jax.tree.unflatten(treedef, leaves))[0]

    def evaluate_at(leaves: list[Array], state: State):
        (f, _), g = evaluate(flat(leaves), state)
        return f, max_abs(g)

    def advance(c: _Carry) -> _Carry:
        trace = record(c.trace, c.k, c.f, c.gradient, c.moved, flat(c.leaves))
        leaves, state = list(c.leaves), c.state
        for i in range(len(leaves)):
            block = _Block(objective, leaves, i, treedef, static)
            found = solver.solver.minimize(block, leaves[i], data, key=key, state=state)
            leaves[i], state = found.model, found.state
        moved = max_abs(flat(leaves) - flat(c.leaves))
        f, gradient = evaluate_at(leaves, state)
        k = c.k + 1
        reason = jnp.where(k >= solver.max_sweeps, STEP_LIMIT, RUNNING)
        reason = jnp.where(moved == 0, PARAMETERS, reason)
        reason = jnp.where(gradient <= solver.tolerance, GRADIENT, reason)
        reason = jnp.where(jnp.isfinite(f), reason, DIVERGED)
        return _Carry(k, reason, leaves, state, f, gradient, moved, trace)

    f, gradient = evaluate_at(leaves, state)
    trace = empty_trace(capacity, f.dtype, x if solver.path else None)
    nan, running = jnp.full_like(f, jnp.nan), jnp.asarray(RUNNING)
    start = _Carry(jnp.asarray(0), running, leaves, state, f, gradient, nan, trace)
    c = jax.lax.while_loop(lambda c: c.reason == RUNNING, advance, start)
    trace = record(c.trace, c.k, c.f, c.gradient, jnp.nan, flat(c.leaves))
    value = jnp.where(c.reason == PARAMETERS, c.moved, c.gradient)
    status = Status(c.reason, c.k, jnp.where(c.reason == DIVERGED, c.f, value))
    solved = rebuild(flat(c.leaves))
    return Solution(solved, c.state, c.f, unflatten_path(trace, rebuild), status)
