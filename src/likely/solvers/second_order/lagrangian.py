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
from jaxtyping import Array, Bool, Float, PyTree

from likely.core.precision import float64
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    reuse_key,
    to_float64,
    trace_capacity,
)
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.second_order.newton import absolute_step, lowest
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import GRADIENT, RUNNING, STALLED, Batch, Solution

MAX_HALVINGS = 30


class LagrangeNewton(AbstractFullBatch):
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
    max_steps: Whole = whole(100)
    tolerance: Real = real(1e-10)
    path: bool = eqx.field(static=True, default=False, kw_only=True)
    capacity: int = eqx.field(static=True, init=False)

    def __post_init__(self):
        self.capacity = trace_capacity(self.max_steps)

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return self.capacity

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Steps until the KKT conditions hold, or there is another reason to stop."""
        x, rebuild = flatten(model)

        def loss(x: Float[Array, " p"]):
            return objective(rebuild(x), data, key=reuse_key(key), state=state)[0]

        def constraint(x: Float[Array, " p"]) -> Float[Array, " m"]:
            return jnp.ravel(self.constraint(rebuild(x)))

        zero = jnp.zeros((), x.dtype)
        trace = empty_trace(capacity, x.dtype, x if self.path else None)
        run = iterate(
            lambda k, c: _step(self, loss, constraint, k, c),
            _Carry(x, zero, zero, zero),
            RUNNING,
            trace,
        )
        last = run.at
        return run.solution(last.x, rebuild, state, last.f, last.residual)


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
    x: Float[Array, " p"]
    f: Float[Array, ""]
    residual: Float[Array, ""]
    nu: Float[Array, ""]


def _step(solver: LagrangeNewton, loss, constraint, k, c: _Carry):
    """Check the conditions; unless they hold, search along the step and move."""
    at = _conditions(loss, constraint, c.x, solver.tolerance)
    done = (at.residual <= solver.tolerance) & at.convex, GRADIENT
    reason = reason_to_stop(k, solver.max_steps, at.f, done)
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
    moves = ~stopped & good
    reason = jnp.where(stopped | good, reason, STALLED)
    new = _Carry(jnp.where(moves, x, c.x), at.f, at.residual, nu)
    entry = at.f, at.residual, jnp.where(stopped, jnp.nan, t), c.x
    return k + moves, reason, new, entry


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
        along = absolute_step(Z.T @ H @ Z)(Z.T @ (g + H @ d))
        flat, convex = max_abs(Z.T @ g) <= tolerance, low >= 0
        d = d + Z @ jnp.where(flat & ~convex, v, along)
    residual = jnp.maximum(max_abs(g - G.T @ gamma), max_abs(h))
    return Kkt(f, h, gamma, residual, convex, d, g @ d, across)


def multipliers(
    f: Callable[[PyTree], Any], constraint: Callable[[PyTree], Array], x: PyTree
) -> np.ndarray:
    """γ at a solution: the derivative of the minimum of f by the level of the constraint.

    Examples:
        >>> found = lk.solvers.multipliers(lambda x: x @ x, lambda x: x.sum() - 2.0, np.ones(2))
        >>> np.abs(np.asarray(found)).round(2)
        array([2.])
    """
    with float64():
        x = to_float64(x)
        point, rebuild = flatten(x)
        g = jax.grad(lambda x: f(rebuild(x)))(point)
        G = jax.jacrev(lambda x: jnp.ravel(constraint(rebuild(x))))(point)
        return np.linalg.lstsq(np.asarray(G).T, np.asarray(g), rcond=None)[0]
