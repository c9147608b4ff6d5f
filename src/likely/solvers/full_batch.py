"""Solvers on all the rows: one compiled program, a loop with a trace, and its ending."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from likely.core.forks import check_not_forked
from likely.core.rows import fill_absent
from likely.solvers.flat import record, unflatten_path
from likely.typing import (
    DIVERGED,
    RUNNING,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    State,
    Status,
    Trace,
)


class AbstractFullBatch(eqx.Module):
    """A solver whose every step uses all the rows."""

    @abstractmethod
    def trace_length(self) -> int:
        """The number of points of the trace, known before the program is compiled."""

    @abstractmethod
    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """The solution, inside the compiled program; absent rows are harmless there."""

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        check_not_forked()
        options = {"key": key, "state": state, "capacity": self.trace_length()}
        return _minimize(self, objective, model, data, options)


@eqx.filter_jit
def _minimize(solver: AbstractFullBatch, objective, model, data, options) -> Solution:
    return solver.solve(objective, model, fill_absent(data), **options)


class Iteration(NamedTuple):
    """A run between two steps."""

    k: Int[Array, ""]
    """The number of steps so far."""
    reason: Int[Array, ""]
    """Why the run has stopped, or RUNNING."""
    at: Any
    """The current point, with whatever else the solver carries from step to step."""
    trace: Trace

    def record(self, *entry: Any) -> "Iteration":
        """The run with loss, gradient, step size and parameters of its point in the trace."""
        return self._replace(trace=record(self.trace, self.k, *entry))

    def solution(self, x: Array, rebuild: Callable, state, loss, value) -> Solution:
        """The solution at x.

        Args:
            x: the parameters as a vector.
            rebuild: the function from the vector to the model.
            state: the state of the model.
            loss: the loss at x.
            value: the number that belongs to the reason, unless the run diverged.
        """
        value = jnp.where(self.reason == DIVERGED, loss, value)
        status = Status(self.reason, self.k, value)
        trace = unflatten_path(self.trace, rebuild)
        return Solution(rebuild(x), state, loss, trace, status)


def iterate(step: Callable, at: Any, reason: Array | int, trace: Trace) -> Iteration:
    """Repeat a step until there is a reason to stop.

    Args:
        step: from the number of steps so far and the point to the new number, the reason
            to stop (or RUNNING), the new point, and the entry of the old point in the
            trace: its loss and gradient, the step size, its parameters.
        at: the start.
        reason: RUNNING, unless the run stops at the start.
        trace: the empty trace.
    """

    def advance(run: Iteration) -> Iteration:
        k, reason, at, entry = step(run.k, run.at)
        return Iteration(k, reason, at, run.record(*entry).trace)

    start = Iteration(jnp.asarray(0), jnp.asarray(reason), at, trace)
    return jax.lax.while_loop(lambda run: run.reason == RUNNING, advance, start)


def reason_to_stop(k, max_steps, loss, *conditions: tuple[Any, Any]) -> Array:
    """Why a run stops after k steps, or RUNNING.

    Args:
        k: the number of steps so far.
        max_steps: the step limit.
        loss: the loss, or any numbers that have to be finite.
        conditions: whether each holds, and the reason that it is; the last one counts.
    """
    reason = jnp.where(k >= max_steps, STEP_LIMIT, RUNNING)
    for holds, why in conditions:
        reason = jnp.where(holds, why, reason)
    return jnp.where(jnp.all(jnp.isfinite(loss)), reason, DIVERGED)
