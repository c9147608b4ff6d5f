r"""Equality constraints through the Lagrangian: Newton on the KKT system (B28).

A minimum of f subject to h(x) = 0 is a stationary point of $L = f - γ^\top h$:

$$\nabla f = G^\top γ, \quad h = 0, \qquad G = \partial h/\partial x .$$

Each step solves the linearised system in two parts: across the constraint,
$G d = -h$, and along it, where $Z^\top H_L Z$ (Z spans the null space of G) gets absolute
eigenvalues, so that it leads to minima and not to saddles. A step is halved until it
lowers $f + ν\lVert h\rVert_1$, or is taken whole where it halves the KKT residual.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int, PyTree

from likely.core.precision import float64
from likely.core.rows import fill_absent
from likely.solvers.flat import (
    capacity_of,
    doubles,
    empty_trace,
    flatten,
    largest,
    record,
    unflatten_path,
)
from likely.solvers.newton import solve_absolute
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

HALVINGS = 30


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
        max_steps: int = 100,
        tolerance: float = 1e-10,
        *,
        path: bool = False,
    ):
        self.constraint, self.path = constraint, path
        self.max_steps, self.tolerance = as_whole(max_steps), as_real(tolerance)
        self.capacity = capacity_of(max_steps)

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters that meet the constraint."""
        return _minimize(self, objective, model, data, key=key, state=state)


class Kkt(NamedTuple):
    """A point, how far it is from the conditions, and the step towards them."""

    x: Float[Array, " p"]
    f: Float[Array, ""]
    h: Float[Array, " m"]
    multipliers: Float[Array, " m"]
    residual: Float[Array, ""]
    """The largest entry of ∇L and h."""
    d: Float[Array, " p"]
    slope: Float[Array, ""]
    """gᵀd."""


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    at: Kkt
    nu: Float[Array, ""]
    trace: Trace


@eqx.filter_jit
def _minimize(
    solver: LagrangeNewton, objective, model, data, *, key, state
) -> Solution:
    x, rebuild = flatten(model)
    data = fill_absent(data)

    def loss(x: Float[Array, " p"]):
        return objective(rebuild(x), data, key=key, state=state)[0]

    def constraint(x: Float[Array, " p"]) -> Float[Array, " m"]:
        return jnp.ravel(solver.constraint(rebuild(x)))

    last = _iterate(solver, lambda x: _linearise(loss, constraint, x), x)
    at = last.at
    trace = record(last.trace, last.k, at.f, at.residual, jnp.nan, at.x)
    value = jnp.where(last.reason == DIVERGED, at.f, at.residual)
    status = Status(last.reason, last.k, value)
    trace = unflatten_path(trace, rebuild)
    return Solution(rebuild(at.x), state, at.f, trace, status)


def _linearise(loss: Callable, constraint: Callable, x: Float[Array, " p"]) -> Kkt:
    """The KKT conditions at x, and the Newton step."""
    f, g = jax.value_and_grad(loss)(x)
    h, G = constraint(x), jax.jacrev(constraint)(x)
    m = len(h)
    Q, R = jnp.linalg.qr(G.T, mode="complete")
    Y, Z, R = Q[:, :m], Q[:, m:], R[:m]
    gamma = solve_triangular(R, Y.T @ g)
    H = jax.hessian(lambda x: loss(x) - gamma @ constraint(x))(x)
    across = -(Y @ solve_triangular(R, h, trans=1))
    along = jnp.zeros_like(x)
    if Z.shape[1]:
        along = Z @ solve_absolute(Z.T @ H @ Z, Z.T @ (g + H @ across))
    d = across + along
    residual = jnp.maximum(largest(g - G.T @ gamma), largest(h))
    return Kkt(x, f, h, gamma, residual, d, g @ d)


def _iterate(solver: LagrangeNewton, linearise: Callable, x) -> _Carry:
    """Steps until there is a reason to stop."""

    def judge(at: Kkt, k) -> Int[Array, ""]:
        limit = jnp.where(k >= solver.max_steps, STEP_LIMIT, RUNNING)
        reason = jnp.where(at.residual <= solver.tolerance, GRADIENT, limit)
        return jnp.where(jnp.isfinite(at.f), reason, DIVERGED)

    def advance(c: _Carry) -> _Carry:
        at, k = c.at, c.k + 1
        nu = jnp.maximum(c.nu, 2 * largest(at.multipliers))

        def merit(at: Kkt):
            return at.f + nu * jnp.sum(jnp.abs(at.h))

        fall = at.slope - nu * jnp.sum(jnp.abs(at.h))

        def good(new: Kkt, t):
            lower = merit(new) <= merit(at) + 1e-4 * t * jnp.minimum(fall, 0.0)
            closer = (t == 1) & (new.residual <= 0.5 * at.residual)
            return jnp.isfinite(new.residual) & (lower | closer)

        def unfinished(s):
            return ~good(s[1], s[0]) & (s[2] < HALVINGS)

        def halve(s):
            t = 0.5 * s[0]
            return t, linearise(at.x + t * at.d), s[2] + 1

        one = jnp.ones((), at.x.dtype)
        start = (one, linearise(at.x + at.d), 0)
        t, new, _ = jax.lax.while_loop(unfinished, halve, start)
        ok = good(new, t)
        here = jax.tree.map(lambda a, b: jnp.where(ok, a, b), new, at)
        reason = jnp.where(ok, judge(here, k), STALLED)
        trace = record(c.trace, c.k, at.f, at.residual, t, at.x)
        return _Carry(k, reason, here, nu, trace)

    start = linearise(x)
    trace = empty_trace(solver.capacity, x.dtype, x if solver.path else None)
    zero = jnp.zeros((), x.dtype)
    first = _Carry(jnp.asarray(0), judge(start, 0), start, zero, trace)
    return jax.lax.while_loop(lambda c: c.reason == RUNNING, advance, first)


def multipliers(
    f: Callable[[PyTree], Any], constraint: Callable[[PyTree], Array], x: PyTree
) -> np.ndarray:
    """γ at a solution: how fast the minimum of f changes with the constraint's level."""
    with float64():
        x = doubles(x)
        point, rebuild = flatten(x)
        at = _linearise(
            lambda x: f(rebuild(x)), lambda x: jnp.ravel(constraint(rebuild(x))), point
        )
        return np.asarray(at.multipliers)
