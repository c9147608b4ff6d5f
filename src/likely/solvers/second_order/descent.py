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

from likely.core.checks import check_choice
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    trace_capacity,
    value_and_gradient,
)
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.second_order.line_search import SEARCHES, Point
from likely.solvers.settings import Real, Whole, as_real, as_whole
from likely.typing import GRADIENT, ROUNDING, RUNNING, STALLED, Batch, Solution

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

    max_steps: Whole = eqx.field(converter=as_whole)
    tolerance: Real = eqx.field(converter=as_real)
    search: str = eqx.field(static=True)
    path: bool = eqx.field(static=True)
    capacity: int = eqx.field(static=True, init=False)

    def __post_init__(self):
        check_choice("search", self.search, SEARCHES)
        self.capacity = trace_capacity(self.max_steps)


class AbstractDescent(AbstractFullBatch, AbstractMethod):
    """A solver whose method needs gradients alone."""

    rules: eqx.AbstractVar[Rules]
    checks_curvature: ClassVar[bool] = False

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return self.rules.capacity

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Steps of the method until there is a reason to stop."""
        x, rebuild = flatten(model)
        evaluate = value_and_gradient(objective, rebuild, data, key)
        return descend(self, evaluate, x, rebuild, state, self.rules)


class _Carry(NamedTuple):
    point: Point
    memory: PyTree
    reset: Bool[Array, ""]
    """Whether the memory is as at the start."""
    best: Float[Array, ""]
    """The smallest gradient so far (its largest entry)."""
    idle: Int[Array, ""]
    """Steps since then, once decreases are below rounding."""


def descend(  # noqa: PLR0917
    method: AbstractMethod,
    evaluate: Callable,
    x: Float[Array, " p"],
    rebuild: Callable,
    state,
    rules: Rules,
) -> Solution:
    """Steps from x until there is a reason to stop."""
    (f, state), g = evaluate(x, state)
    start = Point(x, f, g, state)

    def check(at: Point, k, max_steps) -> Int[Array, ""]:
        level = (max_abs(at.g) <= rules.tolerance) & (not method.checks_curvature)
        return reason_to_stop(k, max_steps, at.f, (level, GRADIENT))

    def step(k, c: _Carry):
        at = c.point
        d, t, convex = method.direction(c.memory, at)
        d = jnp.where(at.g @ d > 0, -d, d)
        slope = at.g @ d
        found = SEARCHES[rules.search](evaluate, at, d, slope, t)
        new = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), found.point, at)
        reason = check(new, k + found.ok, rules.max_steps)
        hidden = _hidden_by_rounding(slope, at.f)
        failed = jnp.where(hidden, ROUNDING, jnp.where(c.reset, STALLED, RUNNING))
        idle = jnp.where(hidden & (max_abs(new.g) >= c.best), c.idle + 1, 0)
        stagnant = (idle >= MAX_IDLE_STEPS) & (reason == RUNNING)
        reason = jnp.where(stagnant, ROUNDING, reason)
        if method.checks_curvature:
            done = convex & (max_abs(at.g) <= rules.tolerance)
            found = found._replace(ok=found.ok & ~done)
            new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, at)
            failed = jnp.where(done, GRADIENT, failed)
        learned, initial = method.learn(c.memory, at, new), method.init(x)
        memory = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), learned, initial)
        best = jnp.minimum(c.best, max_abs(new.g))
        reason = jnp.where(found.ok, reason, failed)
        entry = at.f, max_abs(at.g), found.step, at.x
        return k + found.ok, reason, _Carry(new, memory, ~found.ok, best, idle), entry

    trace = empty_trace(rules.capacity, f.dtype, x if rules.path else None)
    true, zero = jnp.asarray(True), jnp.asarray(0)
    first = _Carry(start, method.init(x), true, max_abs(g), zero)
    run = iterate(step, first, check(start, 0, jnp.inf), trace)
    at, slope = run.at.point, max_abs(run.at.point.g)
    run = run.record(at.f, slope, jnp.nan, at.x)
    return run.solution(at.x, rebuild, at.state, at.f, slope)


def _hidden_by_rounding(
    slope: Float[Array, ""], f: Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether the decrease that the slope predicts is below the rounding of f."""
    eps = jnp.finfo(f.dtype).eps
    return -slope <= 1e4 * eps * jnp.maximum(jnp.abs(f), eps)
