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

from likely.solvers.flat import (
    empty_trace,
    flatten,
    max_abs,
    reuse_key,
    trace_capacity,
)
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.second_order.pointwise import curvature
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import (
    DIVERGED,
    GRADIENT,
    PARAMETERS,
    ROUNDING,
    RUNNING,
    STALLED,
    UNDETERMINED,
    Batch,
    Solution,
)

MIN_GAIN = 1e-4
"""Smallest ratio of actual to predicted decrease of an accepted step."""
DAMPING_ITERATIONS = 20


class LevenbergMarquardt(AbstractFullBatch):
    """Damped Gauss-Newton steps for any model under an objective quadratic in η.

    Args:
        max_steps: the step limit.
        tolerance: stop when the relative change of the parameters, scaled by the columns
            of the Jacobian, is smaller, or the cosine of the angle between the
            residuals and every column.
        trust: the first Δ, in multiples of the norm of the start.
        path: whether the trace keeps the parameters of each step.
    """

    max_steps: Whole = whole(4000)
    tolerance: Real = real(1e-12)
    trust: Real = real(1.0)
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
        """Steps until there is a reason to stop; singular Jacobians are found at the end."""
        x, rebuild = flatten(model)
        local = _linearised(objective, rebuild, data, key, state)
        at, zero = local(x), jnp.zeros((), x.dtype)
        length = jnp.linalg.norm(at.scales * x)
        trust = zero + self.trust * jnp.where(length > 0, length, 1.0)
        start = _Carry(at, at.scales, trust, moved=zero, undamped=zero + jnp.inf)
        trace = empty_trace(capacity, x.dtype, x if self.path else None)
        run = iterate(
            lambda k, c: _step(self, local, k, c), start, _check(self, at, 0), trace
        )
        at, reason = run.at.at, run.reason
        singular = _singular(at.J / at.norms[None])
        singular |= (reason != GRADIENT) & _singular(at.J / run.at.D[None])
        reason = jnp.where(singular & (reason != DIVERGED), UNDETERMINED, reason)
        value = jnp.where(reason == PARAMETERS, run.at.moved, max_abs(at.g))
        run = run._replace(reason=reason).record(at.f, max_abs(at.g), jnp.nan, at.x)
        loss, state = objective(rebuild(at.x), data, key=reuse_key(key), state=state)
        found = run.solution(at.x, rebuild, state, at.f, value)
        losses = found.trace.loss + (loss - at.f)  # the part that is constant in x
        return eqx.tree_at(lambda s: (s.loss, s.trace.loss), found, (loss, losses))


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
    at: Local
    D: Float[Array, " p"]
    trust: Float[Array, ""]
    moved: Float[Array, ""]
    undamped: Float[Array, ""]
    """The relative size of the last undamped step, once decreases are below rounding."""


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


def _step(solver: LevenbergMarquardt, local, k, c: _Carry):
    """Try a step, accept it if the decrease is large enough, adapt the radius."""
    at, k, eps = c.at, k + 1, jnp.finfo(c.at.x.dtype).eps
    step = _damped_step(at, c.D, c.trust)
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
    new = _Carry(
        at=here,
        D=jnp.maximum(c.D, here.scales),
        trust=_adapt_radius(trust, length, step, decrease),
        moved=moved,
        undamped=jnp.where(hidden, moved, c.undamped),
    )
    entry = at.f, max_abs(at.g), jnp.linalg.norm(d), at.x
    return k, jnp.where(failed, failure, reason), new, entry


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


def _damped_step(at: Local, D: Float[Array, " p"], trust) -> _Step:
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
    level = at.cosine <= solver.tolerance, GRADIENT
    return reason_to_stop(k, solver.max_steps, at.T, level)
