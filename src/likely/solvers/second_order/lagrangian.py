r"""Equality constraints through the Lagrangian: Newton on the KKT system.

A minimum of f subject to h(x) = 0 is a stationary point of $L = f - γ^\top h$:

$$\nabla f = G^\top γ, \quad h = 0, \qquad G = \partial h/\partial x .$$

Each step solves the linearised system in two parts: across the constraint,
$G d = -h$, and along it, where $Z^\top H_L Z$ (Z spans the null space of G) gets absolute
eigenvalues, so that it leads to minima and not to saddles. What is then left of h is
corrected by one more step across, and the step is halved until $f + ν\lVert h\rVert_1$
decreases.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int, PyTree

from likely.core.precision import float64
from likely.core.rows import fill_absent
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    record,
    reuse_key,
    to_float64,
    trace_capacity,
    unflatten_path,
)
from likely.solvers.second_order.newton import lowest, solve_absolute
from likely.solvers.settings import Real, Whole, as_real, as_whole
from likely.typing import (
    DIVERGED,
    GRADIENT,
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

MAX_HALVINGS = 30


class LagrangeNewton(eqx.Module):
    """Minimise subject to constraint(model) = 0.

    Args:
        constraint: from the model (or the parameters) to a number or a vector that has
            to be zero; a named function at module level.
        max_steps: the step limit.
        tolerance: stop when neither the gradient of the Lagrangian nor the constraint
            has a larger entry.
        path: whether the trace keeps the parameters of each step.
    """

    constraint: Callable[[Any], Array]
    max_steps: Whole
    tolerance: Real
    path: bool = eqx.field(static=True)
    capacity: int = eqx.field(static=True)

    def __init__(
        self,
        constraint: Callable[[Any], Array],
        max_steps: int | Whole = 100,
        tolerance: float | Real = 1e-10,
        *,
        path: bool = False,
    ):
        self.constraint, self.path = constraint, path
        self.max_steps, self.tolerance = as_whole(max_steps), as_real(tolerance)
        self.capacity = trace_capacity(max_steps)

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters that meet the constraint."""
        return _minimize(self, objective, model, data, key=key, state=state)


class Kkt(NamedTuple):
    """The KKT conditions at a point, and the Newton step."""

    f: Float[Array, ""]
    h: Float[Array, " m"]
    multipliers: Float[Array, " m"]
    residual: Float[Array, ""]
    """The largest entry of ∇L and h."""
    convex: Bool[Array, ""]
    """Whether f has no negative curvature along the constraint."""
    d: Float[Array, " p"]
    slope: Float[Array, ""]
    """gᵀd."""
    across: Float[Array, "p m"]
    """From a value of h to the shortest step that makes up for it."""


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    x: Float[Array, " p"]
    f: Float[Array, ""]
    residual: Float[Array, ""]
    nu: Float[Array, ""]
    trace: Trace


@eqx.filter_jit
def _minimize(
    solver: LagrangeNewton, objective, model, data, *, key, state
) -> Solution:
    x, rebuild = flatten(model)
    data = fill_absent(data)

    def loss(x: Float[Array, " p"]):
        return objective(rebuild(x), data, key=reuse_key(key), state=state)[0]

    def constraint(x: Float[Array, " p"]) -> Float[Array, " m"]:
        return jnp.ravel(solver.constraint(rebuild(x)))

    zero = jnp.zeros((), x.dtype)
    trace = empty_trace(solver.capacity, x.dtype, x if solver.path else None)
    first = _Carry(jnp.asarray(0), jnp.asarray(RUNNING), x, zero, zero, zero, trace)
    last = jax.lax.while_loop(
        lambda c: c.reason == RUNNING,
        lambda c: _advance(solver, loss, constraint, c),
        first,
    )
    value = jnp.where(last.reason == DIVERGED, last.f, last.residual)
    status = Status(last.reason, last.k, value)
    trace = unflatten_path(last.trace, rebuild)
    return Solution(rebuild(last.x), state, last.f, trace, status)


def _advance(solver: LagrangeNewton, loss, constraint, c: _Carry) -> _Carry:
    """Check the conditions; unless they hold, search along the step and move."""
    at = _conditions(loss, constraint, c.x, solver.tolerance)
    limit = jnp.where(c.k >= solver.max_steps, STEP_LIMIT, RUNNING)
    done = (at.residual <= solver.tolerance) & at.convex
    reason = jnp.where(done, GRADIENT, limit)
    reason = jnp.where(jnp.isfinite(at.f), reason, DIVERGED)
    nu = jnp.maximum(c.nu, 2 * max_abs(at.multipliers))
    decrease = jnp.minimum(at.slope - nu * jnp.sum(jnp.abs(at.h)), 0.0)
    now = at.f + nu * jnp.sum(jnp.abs(at.h))

    def trial(t):
        x = c.x + t * at.d
        x = x - at.across @ (constraint(x) - (1 - t) * at.h)
        merit = loss(x) + nu * jnp.sum(jnp.abs(constraint(x)))
        slack = 8 * jnp.finfo(x.dtype).eps * jnp.abs(now)
        return t, x, merit <= now + 1e-4 * t * decrease + slack

    def unfinished(s):
        t, _, good = s
        return ~good & (t > 2.0**-MAX_HALVINGS)

    start = trial(jnp.ones((), c.x.dtype))
    t, x, good = jax.lax.while_loop(unfinished, lambda s: trial(0.5 * s[0]), start)
    stopped = reason != RUNNING
    step = jnp.where(stopped, jnp.nan, t)
    return _Carry(
        k=jnp.where(stopped | ~good, c.k, c.k + 1),
        reason=jnp.where(stopped | good, reason, STALLED),
        x=jnp.where(stopped | ~good, c.x, x),
        f=at.f,
        residual=at.residual,
        nu=nu,
        trace=record(c.trace, c.k, at.f, at.residual, step, c.x),
    )


def _conditions(loss: Callable, constraint: Callable, x, tolerance) -> Kkt:
    """The KKT conditions at x, and the Newton step."""
    f, g = jax.value_and_grad(loss)(x)
    h, G = constraint(x), jax.jacrev(constraint)(x)
    m = len(h)
    Q, R = jnp.linalg.qr(G.T, mode="complete")
    Y, Z, R = Q[:, :m], Q[:, m:], R[:m]
    gamma = solve_triangular(R, Y.T @ g)
    across = solve_triangular(R, Y.T).T
    d, convex = -(across @ h), jnp.asarray(True)
    if Z.shape[1]:
        H = jax.hessian(lambda x: loss(x) - gamma @ constraint(x))(x)
        low, v = lowest(Z.T @ H @ Z)
        along = solve_absolute(Z.T @ H @ Z, Z.T @ (g + H @ d))
        flat, convex = max_abs(Z.T @ g) <= tolerance, low >= 0
        d = d + Z @ jnp.where(flat & ~convex, v, along)
    residual = jnp.maximum(max_abs(g - G.T @ gamma), max_abs(h))
    return Kkt(f, h, gamma, residual, convex, d, g @ d, across)


def multipliers(
    f: Callable[[PyTree], Any], constraint: Callable[[PyTree], Array], x: PyTree
) -> np.ndarray:
    """γ at a solution: the derivative of the minimum of f by the level of the constraint."""
    with float64():
        x = to_float64(x)
        point, rebuild = flatten(x)
        g = jax.grad(lambda x: f(rebuild(x)))(point)
        G = jax.jacrev(lambda x: jnp.ravel(constraint(rebuild(x))))(point)
        return np.linalg.lstsq(np.asarray(G).T, np.asarray(g), rcond=None)[0]
