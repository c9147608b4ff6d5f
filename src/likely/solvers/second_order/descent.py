r"""The loop of all solvers that search along lines.

A method says in which direction to go and what to remember; the loop searches along
it, moves, writes the trace and says why it stopped:

    init(x)                          what the method knows at the start
    direction(memory, point)         where to go, and a first guess how far
    learn(memory, old, new)          after a step

Where a search finds nothing, the method forgets and the loop tries once more.
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
    capacity_of,
    empty_trace,
    flatten,
    largest,
    record,
    unflatten_path,
    value_and_slope,
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

PATIENCE = 5


class Plan(NamedTuple):
    """A direction, and a first guess of the step size."""

    d: Float[Array, " p"]
    t: Float[Array, ""]
    settled: Bool[Array, ""] | bool = True
    """Whether to stop here if there is no slope."""


class AbstractMethod(eqx.Module):
    """How a solver chooses directions."""

    careful: eqx.AbstractClassVar[bool]
    """Whether its plans say if a point without slope is settled."""

    @abstractmethod
    def init(self, x: Float[Array, " p"]) -> PyTree:
        """What is known at the start."""

    @abstractmethod
    def direction(self, memory: PyTree, at: Point) -> Plan:
        """Where to go, and a first guess how far."""

    @abstractmethod
    def learn(self, memory: PyTree, old: Point, new: Point) -> PyTree:
        """What a step from old to new teaches."""


class Rules(eqx.Module):
    """When the loop stops, how it searches, and what it writes down.

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
        self.search, self.path, self.capacity = search, path, capacity_of(max_steps)


class AbstractDescent(AbstractMethod):
    """A method on gradients alone, as a solver."""

    rules: eqx.AbstractVar[Rules]
    careful: ClassVar[bool] = False

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
    evaluate = value_and_slope(objective, rebuild, fill_absent(data), key)
    at, trace, status = descend(solver, evaluate, x, state, solver.rules)
    trace = unflatten_path(trace, rebuild)
    return Solution(rebuild(at.x), at.state, at.f, trace, status)


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    point: Point
    memory: PyTree
    fresh: Bool[Array, ""]
    best: Float[Array, ""]
    """The smallest gradient so far (its largest entry)."""
    idle: Int[Array, ""]
    """Steps since then, once decreases drown in rounding."""
    trace: Trace


def descend(
    method: AbstractMethod,
    evaluate: Callable,
    x: Float[Array, " p"],
    state,
    rules: Rules,
) -> tuple[Point, Trace, Status]:
    """From x downhill until there is a reason to stop."""
    (f, state), g = evaluate(x, state)
    start = Point(x, f, g, state)

    def judge(at: Point) -> Int[Array, ""]:
        flat = largest(at.g) <= rules.tolerance
        done = jnp.where(flat & (not method.careful), GRADIENT, RUNNING)
        return jnp.where(jnp.isfinite(at.f), done, DIVERGED)

    def advance(c: _Carry) -> _Carry:
        at = c.point
        d, t, settled = method.direction(c.memory, at)
        d = jnp.where(at.g @ d > 0, -d, d)
        slope = at.g @ d
        found = SEARCHES[rules.search](evaluate, at, d, slope, t)
        new = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), found.point, at)
        k = c.k + found.ok
        limit = jnp.where(k >= rules.max_steps, STEP_LIMIT, RUNNING)
        reason = judge(new)
        reason = jnp.where(reason == RUNNING, limit, reason)
        hopeless = _hopeless(slope, at.f)
        stuck = jnp.where(hopeless, ROUNDING, jnp.where(c.fresh, STALLED, RUNNING))
        idle = jnp.where(hopeless & (largest(new.g) >= c.best), c.idle + 1, 0)
        tired = (idle >= PATIENCE) & (reason == RUNNING)
        reason = jnp.where(tired, ROUNDING, reason)
        if method.careful:
            done = settled & (largest(at.g) <= rules.tolerance)
            found = found._replace(ok=found.ok & ~done)
            new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, at)
            k = jnp.where(done, c.k, k)
            stuck = jnp.where(done, GRADIENT, stuck)
        learned, forgotten = method.learn(c.memory, at, new), method.init(x)
        return _Carry(
            k,
            jnp.where(found.ok, reason, stuck),
            new,
            jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), learned, forgotten),
            ~found.ok,
            jnp.minimum(c.best, largest(new.g)),
            idle,
            record(c.trace, c.k, at.f, largest(at.g), found.step, at.x),
        )

    trace = empty_trace(rules.capacity, f.dtype, x if rules.path else None)
    first = _Carry(
        k=jnp.asarray(0),
        reason=judge(start),
        point=start,
        memory=method.init(x),
        fresh=jnp.asarray(True),
        best=largest(g),
        idle=jnp.asarray(0),
        trace=trace,
    )
    last = jax.lax.while_loop(lambda c: c.reason == RUNNING, advance, first)
    at, slope = last.point, largest(last.point.g)
    trace = record(last.trace, last.k, at.f, slope, jnp.nan, at.x)
    value = jnp.where(last.reason == DIVERGED, at.f, slope)
    return at, trace, Status(last.reason, last.k, value)


def _hopeless(slope: Float[Array, ""], f: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether the decrease that the slope promises is lost in the rounding of f."""
    eps = jnp.finfo(f.dtype).eps
    return -slope <= 1e4 * eps * jnp.maximum(jnp.abs(f), eps)
