r"""Levenberg-Marquardt: nonlinear least squares.

For objectives quadratic in η (as for `LeastSquares`) under any model. With residuals r
and their Jacobian J, rows scaled by the roots of the weights, each step solves

$$\min_d\; \lVert r + Jd\rVert \quad\text{with}\quad \lVert Dd\rVert \le Δ, \qquad
  d = -(J^\top J + μD^2)^{-1} J^\top r,$$

where D holds the largest lengths that the columns of J have had, so that units do not
matter, and μ is 0 or the number that makes $\lVert Dd\rVert = Δ$ (Moré 1978). The step
comes from the singular values of $JD^{-1}$, never from $J^\top J$. The trust Δ grows where the
decrease is as promised and shrinks where it is not. Near the end the decrease drowns in
rounding; from there on undamped steps count as long as they become shorter, which
saves the last digits.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from likely.core.rows import fill_absent
from likely.solvers.flat import (
    capacity_of,
    empty_trace,
    flatten,
    largest,
    record,
    same,
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

GAIN, SEARCHES = 1e-4, 20


class LevenbergMarquardt(eqx.Module):
    """Damped Gauss-Newton steps for any model under an objective quadratic in η.

    Args:
        max_steps: the step limit.
        tolerance: stop when the parameters, in units of their columns of the Jacobian,
            move by less than this part of themselves, or when the residuals are at
            right angles to all columns to this cosine.
        trust: the first Δ, in multiples of the length of the start.
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
        self.capacity = capacity_of(max_steps)

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the parameters of the model."""
        return _minimize(self, objective, model, data, key=key, state=state)


class Local(NamedTuple):
    """What is known at a point: the triangle of (J, r) by QR, and the length of η."""

    x: Float[Array, " p"]
    T: Float[Array, "q q"]
    size: Float[Array, ""]

    @property
    def J(self) -> Float[Array, "q p"]:
        """The triangle of J."""
        return self.T[:, :-1]

    @property
    def r(self) -> Float[Array, " q"]:
        """The residuals, turned."""
        return self.T[:, -1]

    @property
    def f(self) -> Float[Array, ""]:
        """Half the sum of squares."""
        return 0.5 * (self.r @ self.r)

    @property
    def noise(self) -> Float[Array, ""]:
        """What rounding of r = η − z does to f, generously."""
        length = jnp.linalg.norm(self.r)
        return 4 * jnp.finfo(self.r.dtype).eps * length * (length + self.size)

    @property
    def lengths(self) -> Float[Array, " p"]:
        """Of the columns of J (1 for zeros)."""
        length = jnp.sqrt(jnp.sum(self.J**2, axis=0))
        return jnp.where(length > 0, length, 1.0)

    @property
    def scales(self) -> Float[Array, " p"]:
        """The lengths, but for parameters that could double and hardly be noticed."""
        size = jnp.linalg.norm(self.r) + self.size
        tiny = jnp.finfo(self.x.dtype).eps ** (2 / 3)
        known = jnp.where(self.x != 0, jnp.abs(self.x), jnp.inf)
        return jnp.maximum(self.lengths, tiny * size / known)

    @property
    def g(self) -> Float[Array, " p"]:
        """The gradient."""
        return self.r @ self.J

    @property
    def cosine(self) -> Float[Array, ""]:
        """Of the smallest angle between the residuals and a column of J."""
        length = jnp.maximum(jnp.linalg.norm(self.r), jnp.finfo(self.r.dtype).tiny)
        return largest(self.g / self.lengths) / length


class _Carry(NamedTuple):
    k: Int[Array, ""]
    reason: Int[Array, ""]
    at: Local
    D: Float[Array, " p"]
    trust: Float[Array, ""]
    moved: Float[Array, ""]
    settling: Float[Array, ""]
    """The last undamped step, once decreases drown in rounding."""
    trace: Trace


@eqx.filter_jit
def _minimize(
    solver: LevenbergMarquardt, objective, model, data, *, key, state
) -> Solution:
    x, rebuild = flatten(model)
    data = fill_absent(data)
    local = _linearised(objective, rebuild, data, key, state)
    last = _iterate(solver, local, local(x))
    loss, state = objective(rebuild(last.at.x), data, key=same(key), state=state)
    value = jnp.where(last.reason == DIVERGED, last.at.f, largest(last.at.g))
    value = jnp.where(last.reason == PARAMETERS, last.moved, value)
    status = Status(last.reason, last.k, value)
    trace = unflatten_path(last.trace, rebuild)
    constant = loss - last.at.f  # what the rows pay whatever their residuals
    trace = eqx.tree_at(lambda t: t.loss, trace, trace.loss + constant)
    return Solution(rebuild(last.at.x), state, loss, trace, status)


def _linearised(
    objective, rebuild, data: Batch, key, state
) -> Callable[[Array], Local]:
    """x ↦ residuals and Jacobian of the rows and of the penalty, as a triangle."""
    share = data.w / data.w.sum()

    def predict(x: Float[Array, " p"]):
        eta, _ = rebuild(x)(data.x, w=data.w, key=same(key), state=state)
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
        pull, P = jax.jvp(jax.grad(penalty), (x,), (jnp.ones_like(x),))
        P = jnp.maximum(P, 0.0)
        weak = jnp.where(P > 0, pull / jnp.sqrt(jnp.where(P > 0, P, 1.0)), 0.0)
        prior = jnp.concatenate([jnp.diag(jnp.sqrt(P)), weak[:, None]], axis=1)
        rows = jnp.concatenate([rows, prior, jnp.zeros((1, len(x) + 1), x.dtype)])
        return Local(x, jnp.linalg.qr(rows, mode="r"), jnp.linalg.norm(root * eta))

    return local


def _iterate(solver: LevenbergMarquardt, local, start: Local) -> _Carry:
    """Steps until there is a reason to stop, then the last word on the reason."""
    x, zero = start.x, jnp.zeros((), start.x.dtype)
    length = jnp.linalg.norm(start.scales * x)
    first = _Carry(
        k=jnp.asarray(0),
        reason=_judge(solver, start, 0),
        at=start,
        D=start.scales,
        trust=zero + solver.trust * jnp.where(length > 0, length, 1.0),
        moved=zero,
        settling=zero + jnp.inf,
        trace=empty_trace(solver.capacity, x.dtype, x if solver.path else None),
    )
    last = jax.lax.while_loop(
        lambda c: c.reason == RUNNING, lambda c: _advance(solver, local, c), first
    )
    at, reason = last.at, last.reason
    lost = reason != GRADIENT
    loose = _singular(at.J / at.lengths[None]) | (lost & _singular(at.J / last.D[None]))
    reason = jnp.where(loose & (reason != DIVERGED), UNDETERMINED, reason)
    trace = record(last.trace, last.k, at.f, largest(at.g), jnp.nan, at.x)
    return last._replace(trace=trace, reason=reason)


def _advance(solver: LevenbergMarquardt, local, c: _Carry) -> _Carry:
    """Try a step; move there if it is good; adapt the trust."""
    at, k, eps = c.at, c.k + 1, jnp.finfo(c.at.x.dtype).eps
    step = _step(at, c.D, c.trust)
    blurred = step.promise <= at.noise
    d = jnp.where(blurred, step.whole, step.d)
    new = local(at.x + d)
    finite = jnp.all(jnp.isfinite(new.T))
    fall = jnp.where(finite, at.f - new.f, -jnp.inf)
    way, size = jnp.linalg.norm(c.D * d), jnp.linalg.norm(c.D * at.x)
    moved = way / (way + size)
    settles = (new.f <= at.f + at.noise) & (moved < c.settling)
    ok = finite & jnp.where(blurred, settles, fall > GAIN * step.promise)
    here = jax.tree.map(lambda a, b: jnp.where(ok, a, b), new, at)
    reason = _judge(solver, here, k)
    rests = ok & (moved <= solver.tolerance) & step.free
    reason = jnp.where(rests & (reason == RUNNING), PARAMETERS, reason)
    stuck = ~ok & ((blurred & finite) | (c.trust <= eps * size))
    still = jnp.where(at.cosine <= eps**0.25, ROUNDING, STALLED)
    trust = jnp.where(k == 1, jnp.minimum(c.trust, way), c.trust)
    return _Carry(
        k=k,
        reason=jnp.where(stuck, still, reason),
        at=here,
        D=jnp.maximum(c.D, here.scales),
        trust=_adapted(trust, way, step, fall),
        moved=moved,
        settling=jnp.where(blurred, moved, c.settling),
        trace=record(c.trace, c.k, at.f, largest(at.g), jnp.linalg.norm(d), at.x),
    )


def _adapted(trust, way, step: "_Step", fall) -> Float[Array, ""]:
    """The trust after a step: cut by interpolation, kept, or set to twice the step."""
    gain = fall / step.promise
    cut = jnp.where(fall >= 0, 0.5, 0.5 * step.slope / (step.slope + fall))
    smaller = jnp.maximum(cut, 0.1) * jnp.minimum(trust, 10 * way)
    larger = jnp.where((gain >= 0.75) | step.free, 2 * way, trust)
    return jnp.where(gain <= 0.25, smaller, larger)


class _Step(NamedTuple):
    d: Float[Array, " p"]
    whole: Float[Array, " p"]
    """Without damping."""
    promise: Float[Array, ""]
    """How much f would fall if r were linear."""
    slope: Float[Array, ""]
    """gᵀd."""
    free: Bool[Array, ""]
    """Whether d is the whole step."""


def _step(at: Local, D: Float[Array, " p"], trust) -> _Step:
    """argmin over d of ‖r + Jd‖² with ‖Dd‖ ≤ Δ."""
    U, s, Vt = jnp.linalg.svd(at.J / D[None], full_matrices=False)
    c = at.r @ U
    kept = s > len(D) * jnp.finfo(s.dtype).eps * s[0]

    def turned(mu):  # D d in the coordinates of V
        return -jnp.where(kept, s * c / jnp.where(kept, s**2 + mu, 1.0), 0.0)

    free = jnp.linalg.norm(turned(0.0)) <= 1.1 * trust
    mu = jnp.where(free, 0.0, _damping(s, c, kept, trust))
    q = turned(mu)
    promise = jnp.sum(-q * s * c - 0.5 * (s * q) ** 2)
    slope = jnp.sum(q * s * c)
    return _Step((q @ Vt) / D, (turned(0.0) @ Vt) / D, promise, slope, free)


def _damping(s, c, kept, trust) -> Float[Array, ""]:
    """μ with ‖q(μ)‖ = Δ, by Hebden's iteration inside a bracket."""
    tiny = jnp.finfo(s.dtype).tiny
    high = jnp.linalg.norm(s * c) / trust

    def closer(_, state):
        mu, low, high = state
        q = jnp.where(kept, s * c / (s**2 + mu), 0.0)
        length = jnp.maximum(jnp.linalg.norm(q), tiny)
        low = jnp.where(length > trust, mu, low)
        high = jnp.where(length > trust, high, mu)
        bend = jnp.sum(jnp.where(kept, q**2 / (s**2 + mu), 0.0))
        mu = mu + (length / trust - 1) * length**2 / jnp.maximum(bend, tiny)
        inside = (mu > low) & (mu < high)
        middle = jnp.maximum(1e-3 * high, jnp.sqrt(low * high))
        return jnp.where(inside, mu, middle), low, high

    start = (1e-3 * high, jnp.zeros_like(high), high)
    return jax.lax.fori_loop(0, SEARCHES, closer, start)[0]


def _singular(J: Float[Array, "q p"]) -> Bool[Array, ""]:
    """Whether a direction has hardly any influence on the residuals."""
    s = jnp.linalg.svd(J, compute_uv=False)
    return s[-1] <= 1e2 * jnp.finfo(s.dtype).eps * s[0]


def _judge(solver: LevenbergMarquardt, at: Local, k) -> Int[Array, ""]:
    """Why to stop here, or RUNNING."""
    limit = jnp.where(k >= solver.max_steps, STEP_LIMIT, RUNNING)
    reason = jnp.where(at.cosine <= solver.tolerance, GRADIENT, limit)
    return jnp.where(jnp.all(jnp.isfinite(at.T)), reason, DIVERGED)
