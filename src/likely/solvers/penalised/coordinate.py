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

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.linalg import weighted_gram
from likely.core.rows import fill_absent
from likely.solvers.flat import empty_trace, record, trace_capacity
from likely.solvers.second_order.pointwise import curvature
from likely.solvers.settings import Real, Whole, real, whole
from likely.typing import (
    DIVERGED,
    GAP,
    GRADIENT,
    RUNNING,
    STEP_LIMIT,
    Batch,
    Key,
    Solution,
    State,
    Status,
)


class CoordinateDescent(eqx.Module):
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

    def minimize(
        self, objective, model, data: Batch, *, key: Key | None, state: State = None
    ) -> Solution:
        """Minimise the objective over the coefficients of the model."""
        capacity = trace_capacity(self.max_sweeps)
        return _minimize(
            self, objective, model, data, key=key, state=state, capacity=capacity
        )


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


@eqx.filter_jit
def _minimize(solver, objective, model, data, *, key, state, capacity: int) -> Solution:
    data = fill_absent(data)
    problems = _problems(objective, model, data, key, state)
    B = model.coefficients

    def loss(B: Float[Array, "p k"]) -> Float[Array, ""]:
        return objective(model.with_coefficients(B), data, key=key, state=state)[0]

    def check(problem: Problem, b, q):
        certified = ((problem.t == 0) & (problem.r == 0)).sum() <= 1  # an intercept
        gap, slope = problem.gap(b, q), problem.subgradient(b, q)
        largest = jnp.max(jnp.abs(problem.c))
        done = jnp.where(
            certified,
            gap <= solver.tolerance * problem.yy / 2,
            slope <= solver.tolerance * largest,
        )
        return done, jnp.where(certified, gap, slope), slope, certified

    def advance(carry):
        k, _, B, Q, trace, _ = carry
        moved, Q = jax.vmap(Problem.sweep, (0, 1, 1), (1, 1))(problems, B, Q)
        done, value, slope, certified = jax.vmap(check, (0, 1, 1))(problems, moved, Q)
        f, k = loss(moved), k + 1
        reason = jnp.where(k >= solver.max_sweeps, STEP_LIMIT, RUNNING)
        reached = jnp.where(certified.all(), GAP, GRADIENT)
        reason = jnp.where(done.all(), reached, reason)
        reason = jnp.where(jnp.isfinite(f), reason, DIVERGED)
        value = jnp.where(done.all(), value.max(), slope.max())
        trace = record(trace, k, f, slope.max(), jnp.max(jnp.abs(moved - B)))
        return k, reason, moved, Q, trace, jnp.where(jnp.isfinite(f), value, f)

    Q = problems.c.T - jax.vmap(jnp.matmul, (0, 1), 1)(problems.G, B)
    f = loss(B)
    trace = record(empty_trace(capacity, f.dtype), 0, f, jnp.nan, jnp.nan)
    start = (jnp.asarray(0), jnp.asarray(RUNNING), B, Q, trace, f)
    k, reason, B, _, trace, value = jax.lax.while_loop(
        lambda c: c[1] == RUNNING, advance, start
    )
    status = Status(reason, k, value)
    return Solution(model.with_coefficients(B), state, loss(B), trace, status)


def _problems(objective, model, data: Batch, key, state) -> Problem:
    """The problems of all columns of coefficients, stacked."""
    A, B = model.design(data.x), model.coefficients
    eta, _ = model(data.x, w=data.w, key=key, state=state)
    g, h = curvature(objective, eta, data.y)
    h = jnp.diagonal(h, axis1=1, axis2=2)
    z = A @ B - g / h
    total = data.w.sum()

    def prox(step):
        ones = model.with_coefficients(jnp.ones_like(B))
        return objective.prox(ones, step).coefficients

    def penalty_gradient(B):
        return jax.grad(lambda B: objective.penalty(model.with_coefficients(B)))(B)

    zero, one = jnp.zeros((), B.dtype), jnp.ones((), B.dtype)
    t = -jax.jvp(prox, (zero,), (one,))[1]
    r = jax.jvp(penalty_gradient, (jnp.ones_like(B),), (jnp.ones_like(B),))[1]

    def column(z, h, t, r) -> Problem:
        weight = data.w * h / total
        return Problem(weighted_gram(A, weight), (weight * z) @ A, weight @ z**2, t, r)

    return jax.vmap(column, 1)(z, h, t, r)
