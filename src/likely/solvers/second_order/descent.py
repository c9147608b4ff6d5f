r"""The loop of all solvers with a line search.

A method proposes directions and keeps a memory; the loop searches along the direction,
moves, records the trace and gives the reason for which it stopped:

    init(x)                          the memory at the start
    direction(memory, point)         a direction, and an initial step size
    learn(memory, old, new)          the memory after a step
    retry(x)                         the memory after a line search that failed

Where a line search fails, the loop tries once more with that memory.

A small gradient alone is no minimum: columns of size 10⁻¹⁰ make every gradient small. So
the loop stops where the decrease that is still to come is small, too: gᵀH⁻¹g/2 for methods
that know the Hessian H, which does not depend on the units of the parameters; for others
γ‖g‖²/2, with γ = sᵀy/yᵀy the inverse curvature along the last step.
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
from likely.typing import (
    GRADIENT,
    ROUNDING,
    RUNNING,
    STALLED,
    Batch,
    LinearModel,
    Solution,
)

VISIBLE_DECREASE = 1e4
"""Roundings of the loss from which a decrease can be seen."""
MAX_SIZE = 1e3
"""The size of a column, or its inverse, that a method without curvature can deal with."""
MAX_IDLE_STEPS = 5
"""Steps without a smaller gradient, once decreases are below rounding."""


class Proposal(NamedTuple):
    """A direction, and an initial step size."""

    d: Float[Array, " p"]
    t: Float[Array, ""]
    convex: Bool[Array, ""] | bool = True
    """Whether a point without gradient is a minimum, so that the loop may stop there."""
    norm: Callable[[Float[Array, " p"]], Float[Array, ""]] | None = None
    """√(gᵀH⁻¹g) of a gradient, for methods that know the Hessian."""
    noise: Float[Array, ""] | float = 0.0
    """The norm of what rounding adds to a gradient."""


class AbstractMethod(eqx.Module):
    """How a solver chooses directions."""

    checks_curvature: eqx.AbstractClassVar[bool]
    """Whether its proposals say if a point without gradient is a minimum."""
    knows_hessian: ClassVar[bool] = False
    """Whether its proposals have a norm, and a second try differs from the first."""

    @abstractmethod
    def init(self, x: Float[Array, " p"]) -> PyTree:
        """The memory at the start."""

    @abstractmethod
    def direction(self, memory: PyTree, at: Point) -> Proposal:
        """A direction, and an initial step size."""

    @abstractmethod
    def learn(self, memory: PyTree, old: Point, new: Point) -> PyTree:
        """The memory after a step from old to new."""

    def retry(self, x: Float[Array, " p"]) -> PyTree:
        """The memory after a line search that failed."""
        return self.init(x)


class Rules(eqx.Module):
    """Stopping, line search and trace of the loop.

    Args:
        max_steps: the step limit.
        tolerance: stop when √(gᵀH⁻¹g), or every entry of the gradient, is smaller.
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
        if isinstance(model, LinearModel):
            x, rebuild = _in_units(x, rebuild, model, data)
        evaluate = value_and_gradient(objective, rebuild, data, key)
        return descend(self, evaluate, x, rebuild, state, self.rules)


def _in_units(x, rebuild: Callable, model: LinearModel, data: Batch):
    """Coefficients times the sizes of their columns, for columns that are far from 1.

    Gradients of a tiny column are tiny, and those of others decide where to go.
    """
    A = model.design(data.x)
    size = jnp.sqrt(jnp.maximum(data.w @ A**2 / data.w.sum(), 0.0))
    usual = (size > 1 / MAX_SIZE) & (size < MAX_SIZE) | (size == 0)
    size = jnp.where(usual, 1.0, size)
    B = jnp.broadcast_to(size[:, None], model.coefficients.shape)
    unit, _ = flatten(model.with_coefficients(B))
    return x * unit, lambda x: rebuild(x / unit)


class _Carry(NamedTuple):
    point: Point
    memory: PyTree
    reset: Bool[Array, ""]
    """Whether the memory is that of a second try."""
    best: Float[Array, ""]
    """The smallest gradient so far (its largest entry)."""
    idle: Int[Array, ""]
    """Steps since then, once decreases are below rounding."""
    size: Float[Array, ""]
    """The largest absolute loss so far: what decreases are compared with, up to 1."""


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

    def level(old: Point, new: Point, norm, size) -> Bool[Array, ""]:
        """Whether the gradient is small, and what it still promises."""
        size = jnp.minimum(size, 1.0)
        if norm is not None:
            return norm(new.g) ** 2 <= rules.tolerance**2 * size
        small = jnp.maximum(rules.tolerance**2, VISIBLE_DECREASE * _eps(f)) * size
        promise = _inverse_curvature(old, new) * (new.g @ new.g)
        return (max_abs(new.g) <= rules.tolerance) & (promise <= small)

    def step(k, c: _Carry):
        at = c.point
        d, t, convex, norm, noise = method.direction(c.memory, at)
        d = jnp.where(at.g @ d > 0, -d, d)
        slope = at.g @ d
        found = SEARCHES[rules.search](evaluate, at, d, slope, t)
        new = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), found.point, at)
        size = jnp.maximum(c.size, jnp.abs(new.f))
        stop = level(at, new, norm, size) & (not method.checks_curvature)
        reason = reason_to_stop(k + found.ok, rules.max_steps, new.f, (stop, GRADIENT))
        hidden = _hidden_by_rounding(slope, at.f)
        failed = jnp.where(hidden, ROUNDING, jnp.where(c.reset, STALLED, RUNNING))
        idle = jnp.where(hidden & (max_abs(new.g) >= c.best), c.idle + 1, 0)
        stagnant = (idle >= MAX_IDLE_STEPS) & (reason == RUNNING)
        reason = jnp.where(stagnant, ROUNDING, reason)
        if norm is not None:
            hidden_slope = (norm(new.g) <= noise) & (reason == RUNNING)
            reason = jnp.where(hidden_slope & convex, ROUNDING, reason)
            done = convex & level(at, at, norm, c.size)
            found = found._replace(ok=found.ok & ~done)
            new = jax.tree.map(lambda a, b: jnp.where(done, b, a), new, at)
            failed = jnp.where(done, GRADIENT, failed)
        learned, again = method.learn(c.memory, at, new), method.retry(x)
        memory = jax.tree.map(lambda a, b: jnp.where(found.ok, a, b), learned, again)
        best = jnp.minimum(c.best, max_abs(new.g))
        reason = jnp.where(found.ok, reason, failed)
        entry = at.f, max_abs(at.g), found.step, at.x
        carry = _Carry(new, memory, ~found.ok, best, idle, size)
        return k + found.ok, reason, carry, entry

    trace = empty_trace(rules.capacity, f.dtype, x if rules.path else None)
    second, zero = jnp.asarray(not method.knows_hessian), jnp.asarray(0)
    first = _Carry(start, method.init(x), second, max_abs(g), zero, jnp.abs(f))
    still = (max_abs(g) == 0) & (not method.checks_curvature)
    reason = reason_to_stop(0, jnp.inf, f, (still, GRADIENT))
    run = iterate(step, first, reason, trace)
    at, slope = run.at.point, max_abs(run.at.point.g)
    run = run.record(at.f, slope, jnp.nan, at.x)
    return run.solution(at.x, rebuild, at.state, at.f, slope)


def _hidden_by_rounding(
    slope: Float[Array, ""], f: Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether the decrease that the slope predicts is below the rounding of f."""
    eps = _eps(f)
    return -slope <= VISIBLE_DECREASE * eps * jnp.maximum(jnp.abs(f), eps)


def _inverse_curvature(old: Point, new: Point) -> Float[Array, ""]:
    """γ = sᵀy/yᵀy of a step; 0 where it is not above 0."""
    s, y = new.x - old.x, new.g - old.g
    curved = s @ y > 0
    return jnp.where(curved, s @ y / jnp.where(curved, y @ y, 1.0), 0.0)


def _eps(f: Float[Array, ""]) -> float:
    return float(jnp.finfo(f.dtype).eps)
