r"""The loop of all solvers with a line search.

A method proposes directions and keeps a memory; the loop searches along the direction,
moves, records the trace and gives the reason for which it stopped:

    init(x)                          the memory at the start
    direction(memory, point)         a direction, and an initial step size
    learn(memory, old, new)          the memory after a step

Where a line search fails, the memory is reset and the loop tries once more.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from likely.core.checks import InputError
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
from likely.solvers.second_order.line_search import SEARCHES, Point
from likely.solvers.settings import Real, Whole, as_real, as_whole
from likely.typing import (
    DIVERGED,
    GRADIENT,
    ROUNDING,
    RUNNING,
    STALLED,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    State,
    Status,
    Trace,
)

MAX_IDLE_STEPS = 5
"""Steps without a smaller gradient, once decreases are below rounding."""


class Proposal(NamedTuple):
    """A direction, and an initial step size."""

    d: Float[Array, " p"]
    t: Float[Array, ""]
    convex: Bool[Array, ""] | bool = True
    """Whether a point without gradient is a minimum, so that the loop may stop there."""


class AbstractMethod(eqx.Module):
    """How a solver chooses directions."""

    checks_curvature: eqx.AbstractClassVar[bool]
    """Whether its proposals say if a point without gradient is a minimum."""

    @abstractmethod
    def init(self, x: Float[Array, " p"]) -> PyTree:
        """The memory at the start."""

    @abstractmethod
    def direction(self, memory: PyTree, at: Point) -> Proposal:
        """A direction, and an initial step size."""

    @abstractmethod
    def learn(self, memory: PyTree, old: Point, new: Point) -> PyTree:
        """The memory after a step from old to new."""


class Rules(eqx.Module):
    """Stopping, line search and trace of the loop.

    Args:
        max_steps: the step limit.
        tolerance: stop when no entry of the gradient is larger.
        search: "wolfe", "backtracking" or "golden".
        path: whether the trace keeps the parameters of each step.
    """

    max_steps: Whole
    tolerance: Real
    search: str = eqx.field(static=True)
    path: bool = eqx.field(static=True)
    capacity: int = eqx.field(static=True)

    def __init__(self, max_steps, tolerance, search: str, path: bool):
        if search not in SEARCHES:
            known = ", ".join(sorted(SEARCHES))
            raise InputError(f"search is {search!r}; give one of {known}.")
        self.max_steps, self.tolerance = as_whole(max_steps), as_real(tolerance)
        self.search, self.path, self.capacity = search, path, trace_capacity(max_steps)


class AbstractDescent(AbstractMethod):
    """A solver whose method needs gradients alone."""

    rules: eqx.AbstractVar[Rules]
    checks_curvature: ClassVar[bool] = False

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        return _minimize(self, objective, model, data, key=key, state=state)


@eqx.filter_jit
def _minimize(
    solver: AbstractDescent, objective, model, data, *, key, state
) -> Solution:
    x, rebuild = flatten(model)
    evaluate = value_and_gradient(objective, rebuild, fill_absent(data), key)
    at, trace, status = descend(solver, evaluate, x, state, solver.rules)
    trace = unflatten_path(trace, rebuild)
    return Solution(rebuild(at.x), at.state, at.f, trace, status)


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    point: Point
    memory: PyTree
    reset: Bool[Array, ""]
    """Whether the memory is as at the start."""
    best: Float[Array, ""]
    """The smallest gradient so far (its largest entry)."""
    idle: Int[Array, ""]
    """Steps since then, once decreases are below rounding."""
    trace: Trace


def descend(
    method: AbstractMethod,
    evaluate: Callable,
    x: Float[Array, " p"],
    state,
    rules: Rules,
) -> tuple[Point, Trace, Status]:
    """Steps from x until there is a reason to stop."""
    (f, state), g = evaluate(x, state)
    start = Point(x, f, g, state)

    def check(at: Point) -> Int[Array, ""]:
        flat = max_abs(at.g) <= rules.tolerance
        done = jnp.where(flat & (not method.checks_curvature), GRADIENT, RUNNING)
        return jnp.where(jnp.isfinite(at.f), done, DIVERGED)

    def advance(c: _Carry) -> _Carry:
        at = c.point
        d, t, convex = method.direction(c.memory, at)
        d = jnp.where(at.g @ d > 0, -d, d)
        slope = at.g @ d
        found = SEARCHES[rules.search](evaluate, at, d, slope, t)
        new = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), found.point, at)
        k = c.k + found.ok
        limit = jnp.where(k >= rules.max_steps, STEP_LIMIT, RUNNING)
        reason = check(new)
        reason = jnp.where(reason == RUNNING, limit, reason)
        hidden = _hidden_by_rounding(slope, at.f)
        failed = jnp.where(hidden, ROUNDING, jnp.where(c.reset, STALLED, RUNNING))
        idle = jnp.where(hidden & (max_abs(new.g) >= c.best), c.idle + 1, 0)
        stagnant = (idle >= MAX_IDLE_STEPS) & (reason == RUNNING)
        reason = jnp.where(stagnant, ROUNDING, reason)
        if method.checks_curvature:
            done = convex & (max_abs(at.g) <= rules.tolerance)
            found = found._replace(ok=found.ok & ~done)
            new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, at)
            k = jnp.where(done, c.k, k)
            failed = jnp.where(done, GRADIENT, failed)
        learned, initial = method.learn(c.memory, at, new), method.init(x)
        return _Carry(
            k,
            jnp.where(found.ok, reason, failed),
            new,
            jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), learned, initial),
            ~found.ok,
            jnp.minimum(c.best, max_abs(new.g)),
            idle,
            record(c.trace, c.k, at.f, max_abs(at.g), found.step, at.x),
        )

    trace = empty_trace(rules.capacity, f.dtype, x if rules.path else None)
    first = _Carry(
        k=jnp.asarray(0),
        reason=check(start),
        point=start,
        memory=method.init(x),
        reset=jnp.asarray(True),
        best=max_abs(g),
        idle=jnp.asarray(0),
        trace=trace,
    )
    last = jax.lax.while_loop(lambda c: c.reason == RUNNING, advance, first)
    at, slope = last.point, max_abs(last.point.g)
    trace = record(last.trace, last.k, at.f, slope, jnp.nan, at.x)
    value = jnp.where(last.reason == DIVERGED, at.f, slope)
    return at, trace, Status(last.reason, last.k, value)


def _hidden_by_rounding(
    slope: Float[Array, ""], f: Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether the decrease that the slope predicts is below the rounding of f."""
    eps = jnp.finfo(f.dtype).eps
    return -slope <= 1e4 * eps * jnp.maximum(jnp.abs(f), eps)
