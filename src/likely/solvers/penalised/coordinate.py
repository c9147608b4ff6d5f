r"""Coordinate descent for linear models with a quadratic loss and an L1 penalty.

With the second moments G = AᵀHA and c = AᵀHz (H the weighted curvatures, z the working
response, as in `LeastSquares`) and $q = c - Gb$, each coordinate in turn is set to its
exact minimiser,

$$b_j \leftarrow \frac{S(q_j + G_{jj} b_j,\; t_j)}{G_{jj} + r_j}, \qquad
  S(z, t) = \operatorname{sign}(z)\max(|z| - t, 0).$$

Thresholds t and ridge r come from the objective: t from the derivative of its proximal
map, r from the curvature of its penalty. This runs inside a JAX program and under `vmap`;
for a path of penalties outside of one `lasso_path` is faster.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.solvers.flat import empty_trace, trace_capacity
from likely.solvers.full_batch import AbstractFullBatch, iterate, reason_to_stop
from likely.solvers.second_order.pointwise import penalty_curvature, working_response
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import GAP, GRADIENT, RUNNING, Batch, Solution


class CoordinateDescent(AbstractFullBatch):
    """Coordinate descent for a `LinearModel`.

    The objective is `Separable`, quadratic in η, and `Proximable` with a penalty that is
    a weighted L1 norm (`LaplacePrior`, `ElasticNetPrior`).

    Args:
        max_sweeps: the limit on the number of sweeps over all coefficients.
        tolerance: stop when the duality gap is at most this part of the loss at b = 0
            (without an L1 norm: when the gradient is at most this part of that at b = 0).
    """

    max_sweeps: Whole = whole(10_000)
    tolerance: Real = real(1e-8)

    def trace_length(self) -> int:
        """The number of points of the trace."""
        return trace_capacity(self.max_sweeps)

    def solve(
        self, objective, model, data: Batch, *, key, state, capacity: int
    ) -> Solution:
        """Sweeps over the coefficients until there is a reason to stop."""
        problems = _problems(objective, model, data, key, state)

        def loss(B: Float[Array, "p k"]) -> Float[Array, ""]:
            return objective(model.with_coefficients(B), data, key=key, state=state)[0]

        def check(problem: Problem, b, q):
            certified = ((problem.t == 0) & (problem.r == 0)).sum() <= 1  # an intercept
            gap, slope = problem.gap(b, q), problem.subgradient(b, q)
            largest = jnp.max(jnp.abs(problem.c))
            done = jnp.where(
                certified,
                gap <= self.tolerance * problem.yy / 2,
                slope <= self.tolerance * largest,
            )
            return done, jnp.where(certified, gap, slope), slope, certified

        def sweep(k, at: _Point):
            B, Q = jax.vmap(Problem.sweep, (0, 1, 1), (1, 1))(problems, at.B, at.Q)
            done, value, slope, certified = jax.vmap(check, (0, 1, 1))(problems, B, Q)
            f, moved = loss(B), jnp.max(jnp.abs(B - at.B))
            reached = done.all(), jnp.where(certified.all(), GAP, GRADIENT)
            reason = reason_to_stop(k + 1, self.max_sweeps, f, reached)
            value = jnp.where(done.all(), value.max(), slope.max())
            new = _Point(B, Q, f, slope.max(), moved, value)
            return k + 1, reason, new, (at.f, at.slope, at.moved)

        B = model.coefficients
        Q = problems.c.T - jax.vmap(jnp.matmul, (0, 1), 1)(problems.G, B)
        f, nan = loss(B), jnp.full((), jnp.nan, B.dtype)
        start, trace = _Point(B, Q, f, nan, nan, nan), empty_trace(capacity, f.dtype)
        run = iterate(sweep, start, RUNNING, trace)
        last, run = run.at, run.record(run.at.f, run.at.slope, run.at.moved)
        return run.solution(last.B, model.with_coefficients, state, last.f, last.value)


class _Point(NamedTuple):
    B: Float[Array, "p k"]
    Q: Float[Array, "p k"]
    f: Float[Array, ""]
    slope: Float[Array, ""]
    """The largest entry of the smallest subgradient."""
    moved: Float[Array, ""]
    """The largest change of a coefficient in the sweep that led here."""
    value: Float[Array, ""]
    """The duality gap where it decided, else the slope."""


class Problem(NamedTuple):
    """The problem of minimising ½bᵀGb − cᵀb + ½yy + Σ t|b| + ½Σ r b²."""

    G: Float[Array, "p p"]
    c: Float[Array, " p"]
    yy: Float[Array, ""]
    t: Float[Array, " p"]
    r: Float[Array, " p"]

    def sweep(
        self, b: Float[Array, " p"], q: Float[Array, " p"]
    ) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
        """Each coordinate in turn set to its minimiser; also the new q."""

        def one(j, carry):
            b, q = carry
            g = self.G[j, j]
            z = q[j] + g * b[j]
            soft = jnp.sign(z) * jnp.maximum(jnp.abs(z) - self.t[j], 0.0)
            scale = g + self.r[j]
            new = jnp.where(scale > 0, soft / jnp.where(scale > 0, scale, 1.0), b[j])
            return b.at[j].set(new), q - (new - b[j]) * self.G[j]

        return jax.lax.fori_loop(0, len(b), one, (b, q))

    def gap(self, b: Float[Array, " p"], q: Float[Array, " p"]) -> Float[Array, ""]:
        """The duality gap, if the gradient of all unpenalised coefficients is zero."""
        rr, target = self.yy - b @ (self.c + q), self.yy - self.c @ b
        sharp = (self.t > 0) & (self.r == 0)
        ratio = self.t / jnp.maximum(jnp.abs(q), jnp.finfo(q.dtype).tiny)
        s = jnp.minimum(1.0, jnp.min(jnp.where(sharp, ratio, 1.0), initial=1.0))
        over = jnp.maximum(jnp.abs(s * q) - self.t, 0.0)
        conjugate = jnp.where(
            self.r > 0, over**2 / jnp.where(self.r > 0, self.r, 1.0), 0
        )
        primal = 0.5 * rr + self.t @ jnp.abs(b) + 0.5 * self.r @ b**2
        return primal - (s * target - 0.5 * s**2 * rr - 0.5 * conjugate.sum())

    def subgradient(
        self, b: Float[Array, " p"], q: Float[Array, " p"]
    ) -> Float[Array, ""]:
        """The largest entry of the smallest subgradient."""
        g = self.r * b - q
        at_zero = jnp.maximum(jnp.abs(g) - self.t, 0.0)
        return jnp.max(jnp.where(b == 0, at_zero, jnp.abs(g + self.t * jnp.sign(b))))


def _problems(objective, model, data: Batch, key, state) -> Problem:
    """The problems of all columns of coefficients, stacked."""
    A, z, h = working_response(objective, model, data, key, state)
    ones, total = jnp.ones_like(model.coefficients), data.w.sum()

    def prox(step):
        return objective.prox(model.with_coefficients(ones), step).coefficients

    zero, one = jnp.zeros((), ones.dtype), jnp.ones((), ones.dtype)
    t = -jax.jvp(prox, (zero,), (one,))[1]
    r = penalty_curvature(objective, model, ones)

    def column(z, h, t, r) -> Problem:
        weight = data.w * h / total
        return Problem(weighted_gram(A, weight), (weight * z) @ A, weight @ z**2, t, r)

    return jax.vmap(column, 1)(z, h, t, r)
