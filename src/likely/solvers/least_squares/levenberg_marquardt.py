r"""Levenberg-Marquardt: nonlinear least squares.

For objectives quadratic in η (as for `LeastSquares`) under any model. With residuals r
and their Jacobian J, rows scaled by the roots of the weights, each step solves

$$\min_d\; \lVert r + Jd\rVert \quad\text{with}\quad \lVert Dd\rVert \le Δ, \qquad
  d = -(J^\top J + μD^2)^{-1} J^\top r,$$

where D holds the largest norms of the columns of J so far, so that units do not
matter, and μ is 0 or the number that makes $\lVert Dd\rVert = Δ$ (Moré 1978). The step
comes from the singular values of $JD^{-1}$, never from $J^\top J$. The trust radius Δ grows
where the decrease is as predicted and shrinks where it is not. Near the end the decrease
is below rounding; from there on undamped steps are accepted as long as they become
shorter, which gives the last digits.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from likely.core.rows import fill_absent
from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    record,
    reuse_key,
    trace_capacity,
    unflatten_path,
)
from likely.solvers.second_order.pointwise import curvature
from likely.solvers.settings import Real, Whole, as_real, as_whole
from likely.typing import (
    DIVERGED,
    GRADIENT,
    PARAMETERS,
    ROUNDING,
    RUNNING,
    STALLED,
    STEP_LIMIT,
    UNDETERMINED,
    Batch,
    Key,
    Solution,
    State,
    Status,
    Trace,
)

MIN_GAIN = 1e-4
"""Smallest ratio of actual to predicted decrease of an accepted step."""
DAMPING_ITERATIONS = 20


class LevenbergMarquardt(eqx.Module):
    """Damped Gauss-Newton steps for any model under an objective quadratic in η.

    Args:
        max_steps: the step limit.
        tolerance: stop when the relative change of the parameters, scaled by the columns
            of the Jacobian, is smaller, or the cosine of the angle between the
            residuals and every column.
        trust: the first Δ, in multiples of the norm of the start.
        path: whether the trace keeps the parameters of each step.
    """

    max_steps: Whole
    tolerance: Real
    trust: Real
    path: bool = eqx.field(static=True)
    capacity: int = eqx.field(static=True)

    def __init__(
        self,
        max_steps: int | Whole = 4000,
        tolerance: float | Real = 1e-12,
        trust: float | Real = 1.0,
        *,
        path: bool = False,
    ):
        self.max_steps, self.tolerance = as_whole(max_steps), as_real(tolerance)
        self.trust, self.path = as_real(trust), path
        self.capacity = trace_capacity(max_steps)

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        return _minimize(self, objective, model, data, key=key, state=state)


class Local(NamedTuple):
    """The linear model at a point: the triangle of (J, r) by QR, and the norm of η."""

    x: Float[Array, " p"]
    T: Float[Array, "q q"]
    size: Float[Array, ""]

    @property
    def J(self) -> Float[Array, "q p"]:
        """The triangle of J."""
        return self.T[:, :-1]

    @property
    def r(self) -> Float[Array, " q"]:
        """The residuals, multiplied by Qᵀ."""
        return self.T[:, -1]

    @property
    def f(self) -> Float[Array, ""]:
        """Half the sum of squares."""
        return 0.5 * (self.r @ self.r)

    @property
    def noise(self) -> Float[Array, ""]:
        """An upper bound on the rounding error of f from that of r = η − z."""
        length = jnp.linalg.norm(self.r)
        return 4 * jnp.finfo(self.r.dtype).eps * length * (length + self.size)

    @property
    def norms(self) -> Float[Array, " p"]:
        """The norms of the columns of J (1 for zeros)."""
        norm = jnp.sqrt(jnp.sum(self.J**2, axis=0))
        return jnp.where(norm > 0, norm, 1.0)

    @property
    def scales(self) -> Float[Array, " p"]:
        """The norms, but larger where doubling a parameter hardly changes the residuals."""
        size = jnp.linalg.norm(self.r) + self.size
        tiny = jnp.finfo(self.x.dtype).eps ** (2 / 3)
        known = jnp.where(self.x != 0, jnp.abs(self.x), jnp.inf)
        return jnp.maximum(self.norms, tiny * size / known)

    @property
    def g(self) -> Float[Array, " p"]:
        """The gradient."""
        return self.r @ self.J

    @property
    def cosine(self) -> Float[Array, ""]:
        """The cosine of the smallest angle between the residuals and a column of J."""
        length = jnp.maximum(jnp.linalg.norm(self.r), jnp.finfo(self.r.dtype).tiny)
        return max_abs(self.g / self.norms) / length


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    at: Local
    D: Float[Array, " p"]
    trust: Float[Array, ""]
    moved: Float[Array, ""]
    undamped: Float[Array, ""]
    """The relative size of the last undamped step, once decreases are below rounding."""
    trace: Trace


@eqx.filter_jit
def _minimize(
    solver: LevenbergMarquardt, objective, model, data, *, key, state
) -> Solution:
    x, rebuild = flatten(model)
    data = fill_absent(data)
    local = _linearised(objective, rebuild, data, key, state)
    last = _iterate(solver, local, local(x))
    loss, state = objective(rebuild(last.at.x), data, key=reuse_key(key), state=state)
    value = jnp.where(last.reason == DIVERGED, last.at.f, max_abs(last.at.g))
    value = jnp.where(last.reason == PARAMETERS, last.moved, value)
    status = Status(last.reason, last.k, value)
    trace = unflatten_path(last.trace, rebuild)
    constant = loss - last.at.f  # the part of the loss that does not depend on x
    trace = eqx.tree_at(lambda t: t.loss, trace, trace.loss + constant)
    return Solution(rebuild(last.at.x), state, loss, trace, status)


def _linearised(
    objective, rebuild, data: Batch, key, state
) -> Callable[[Array], Local]:
    """x ↦ residuals and Jacobian of the rows and of the penalty, as a triangle."""
    share = data.w / data.w.sum()

    def predict(x: Float[Array, " p"]):
        eta, _ = rebuild(x)(data.x, w=data.w, key=reuse_key(key), state=state)
        return eta, eta

    def penalty(x: Float[Array, " p"]) -> Float[Array, ""]:
        return objective.penalty(rebuild(x))

    def local(x: Float[Array, " p"]) -> Local:
        J, eta = jax.jacfwd(predict, has_aux=True)(x)  # (n, k, p), (n, k)
        g, h = curvature(objective, eta, data.y)
        h = jnp.diagonal(h, axis1=1, axis2=2)
        root = jnp.sqrt(share[:, None] * h)
        rows = jnp.concatenate(
            [root[..., None] * J, (root * g / h)[..., None]], axis=-1
        ).reshape(-1, len(x) + 1)
        penalty_g, P = jax.jvp(jax.grad(penalty), (x,), (jnp.ones_like(x),))
        P = jnp.maximum(P, 0.0)
        shift = jnp.where(P > 0, penalty_g / jnp.sqrt(jnp.where(P > 0, P, 1.0)), 0.0)
        prior = jnp.concatenate([jnp.diag(jnp.sqrt(P)), shift[:, None]], axis=1)
        rows = jnp.concatenate([rows, prior, jnp.zeros((1, len(x) + 1), x.dtype)])
        return Local(x, jnp.linalg.qr(rows, mode="r"), jnp.linalg.norm(root * eta))

    return local


def _iterate(solver: LevenbergMarquardt, local, start: Local) -> _Carry:
    """Steps until there is a reason to stop; singular Jacobians are found at the end."""
    x, zero = start.x, jnp.zeros((), start.x.dtype)
    length = jnp.linalg.norm(start.scales * x)
    first = _Carry(
        k=jnp.asarray(0),
        reason=_check(solver, start, 0),
        at=start,
        D=start.scales,
        trust=zero + solver.trust * jnp.where(length > 0, length, 1.0),
        moved=zero,
        undamped=zero + jnp.inf,
        trace=empty_trace(solver.capacity, x.dtype, x if solver.path else None),
    )
    last = jax.lax.while_loop(
        lambda c: c.reason == RUNNING, lambda c: _advance(solver, local, c), first
    )
    at, reason = last.at, last.reason
    stopped_early = reason != GRADIENT
    singular = _singular(at.J / at.norms[None])
    singular |= stopped_early & _singular(at.J / last.D[None])
    reason = jnp.where(singular & (reason != DIVERGED), UNDETERMINED, reason)
    trace = record(last.trace, last.k, at.f, max_abs(at.g), jnp.nan, at.x)
    return last._replace(trace=trace, reason=reason)


def _advance(solver: LevenbergMarquardt, local, c: _Carry) -> _Carry:
    """Try a step, accept it if the decrease is large enough, adapt the radius."""
    at, k, eps = c.at, c.k + 1, jnp.finfo(c.at.x.dtype).eps
    step = _step(at, c.D, c.trust)
    hidden = step.predicted <= at.noise
    d = jnp.where(hidden, step.undamped, step.d)
    new = local(at.x + d)
    finite = jnp.all(jnp.isfinite(new.T))
    decrease = jnp.where(finite, at.f - new.f, -jnp.inf)
    length, size = jnp.linalg.norm(c.D * d), jnp.linalg.norm(c.D * at.x)
    moved = length / (length + size)
    shorter = (new.f <= at.f + at.noise) & (moved < c.undamped)
    ok = finite & jnp.where(hidden, shorter, decrease > MIN_GAIN * step.predicted)
    here = jax.tree.map(lambda a, b: jnp.where(ok, a, b), new, at)
    reason = _check(solver, here, k)
    small = ok & (moved <= solver.tolerance) & step.is_undamped
    reason = jnp.where(small & (reason == RUNNING), PARAMETERS, reason)
    failed = ~ok & ((hidden & finite) | (c.trust <= eps * size))
    failure = jnp.where(at.cosine <= eps**0.25, ROUNDING, STALLED)
    trust = jnp.where(k == 1, jnp.minimum(c.trust, length), c.trust)
    return _Carry(
        k=k,
        reason=jnp.where(failed, failure, reason),
        at=here,
        D=jnp.maximum(c.D, here.scales),
        trust=_adapt_radius(trust, length, step, decrease),
        moved=moved,
        undamped=jnp.where(hidden, moved, c.undamped),
        trace=record(c.trace, c.k, at.f, max_abs(at.g), jnp.linalg.norm(d), at.x),
    )


def _adapt_radius(trust, length, step: "_Step", decrease) -> Float[Array, ""]:
    """The radius after a step: reduced by interpolation, kept, or twice the step."""
    gain = decrease / step.predicted
    cut = jnp.where(decrease >= 0, 0.5, 0.5 * step.slope / (step.slope + decrease))
    smaller = jnp.maximum(cut, 0.1) * jnp.minimum(trust, 10 * length)
    larger = jnp.where((gain >= 0.75) | step.is_undamped, 2 * length, trust)
    return jnp.where(gain <= 0.25, smaller, larger)


class _Step(NamedTuple):
    d: Float[Array, " p"]
    undamped: Float[Array, " p"]
    """The Gauss-Newton step."""
    predicted: Float[Array, ""]
    """The decrease of f if r were linear."""
    slope: Float[Array, ""]
    """gᵀd."""
    is_undamped: Bool[Array, ""]
    """Whether d is the Gauss-Newton step."""


def _step(at: Local, D: Float[Array, " p"], trust) -> _Step:
    """argmin over d of ‖r + Jd‖² with ‖Dd‖ ≤ Δ."""
    U, s, Vt = jnp.linalg.svd(at.J / D[None], full_matrices=False)
    c = at.r @ U
    kept = s > len(D) * jnp.finfo(s.dtype).eps * s[0]

    def solve(mu):  # D d in the coordinates of V
        return -jnp.where(kept, s * c / jnp.where(kept, s**2 + mu, 1.0), 0.0)

    inside = jnp.linalg.norm(solve(0.0)) <= 1.1 * trust
    mu = jnp.where(inside, 0.0, _damping(s, c, kept, trust))
    q = solve(mu)
    predicted = jnp.sum(-q * s * c - 0.5 * (s * q) ** 2)
    slope = jnp.sum(q * s * c)
    return _Step((q @ Vt) / D, (solve(0.0) @ Vt) / D, predicted, slope, inside)


def _damping(s, c, kept, trust) -> Float[Array, ""]:
    """μ with ‖q(μ)‖ = Δ, by Hebden's iteration inside a bracket."""
    tiny = jnp.finfo(s.dtype).tiny
    high = jnp.linalg.norm(s * c) / trust

    def iterate(_, state):
        mu, low, high = state
        q = jnp.where(kept, s * c / (s**2 + mu), 0.0)
        length = jnp.maximum(jnp.linalg.norm(q), tiny)
        low = jnp.where(length > trust, mu, low)
        high = jnp.where(length > trust, high, mu)
        derivative = jnp.sum(jnp.where(kept, q**2 / (s**2 + mu), 0.0))
        mu = mu + (length / trust - 1) * length**2 / jnp.maximum(derivative, tiny)
        inside = (mu > low) & (mu < high)
        middle = jnp.maximum(1e-3 * high, jnp.sqrt(low * high))
        return jnp.where(inside, mu, middle), low, high

    start = (1e-3 * high, jnp.zeros_like(high), high)
    return jax.lax.fori_loop(0, DAMPING_ITERATIONS, iterate, start)[0]


def _singular(J: Float[Array, "q p"]) -> Bool[Array, ""]:
    """Whether the residuals do not depend on some direction, up to rounding."""
    s = jnp.linalg.svd(J, compute_uv=False)
    return s[-1] <= 1e2 * jnp.finfo(s.dtype).eps * s[0]


def _check(solver: LevenbergMarquardt, at: Local, k) -> Int[Array, ""]:
    """Why to stop here, or RUNNING."""
    limit = jnp.where(k >= solver.max_steps, STEP_LIMIT, RUNNING)
    reason = jnp.where(at.cosine <= solver.tolerance, GRADIENT, limit)
    return jnp.where(jnp.all(jnp.isfinite(at.T)), reason, DIVERGED)
