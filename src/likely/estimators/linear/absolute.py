r"""Quantile regression by an interior-point method: exact, safe to `vmap`.

$\min_b \sum_i w_i ρ_τ(y_i - a_i b)$ with $ρ_τ(r) = \max(τr, (τ-1)r)$ is a linear program; τ = ½
are least absolute deviations. Its dual has a variable $x_i \in (0, 1)$ for each row (at the
end 1 above the line and 0 below it),

$$\max_x \sum_i w_i y_i x_i \quad\text{where}\quad
  \sum_i w_i x_i a_i = (1 - τ) \sum_i w_i a_i,$$

and b are the multipliers of the constraint. The logarithmic barrier weighs each row by w,
so a row of weight 2 is exactly two rows; each of about twenty Newton steps (predictor and
corrector, after Mehrotra; for regression Portnoy and Koenker) is a weighted least squares.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from likely.core.linalg import weighted_gram

MAX_STEPS = 60
STEP_SHARE = 0.9995
"""How much of the way to the boundary a step goes."""


class _State(NamedTuple):
    """Primal x, its slack s = 1 − x, multipliers z and v of x > 0 and s > 0, and b."""

    x: Float[Array, " n"]
    s: Float[Array, " n"]
    z: Float[Array, " n"]
    v: Float[Array, " n"]
    b: Float[Array, " p"]
    gap: Float[Array, ""]
    steps: Int[Array, ""]


def least_pinball(
    A: Float[Array, "n p"],
    y: Float[Array, " n"],
    w: Float[Array, " n"],
    tau: float = 0.5,
) -> tuple[Float[Array, " p"], Float[Array, ""], Int[Array, ""]]:
    """b, the duality gap as a part of the loss, and the steps taken."""
    T, present, total = _whitening(A, w), w > 0, w.sum()
    A = A @ T
    y = jnp.where(present, y, 0.0)

    def solve(q: Float[Array, " n"], r: Float[Array, " n"]) -> Float[Array, " p"]:
        """argmin of Σ w q (r − A d)²."""
        H = (A * (w * q)[:, None]).T @ A
        scale = jnp.diagonal(H)
        lift = jnp.where(scale > 0, 1e-14 * scale, 1.0)
        return jnp.linalg.solve(H + jnp.diag(lift), (w * q * r) @ A)

    # From here on y is what least squares leaves of it, in units of its own size.
    one, rounding = jnp.ones_like(y), 100 * jnp.finfo(y.dtype).eps * w @ jnp.abs(y)
    line = solve(one, y)
    line = line + solve(one, y - A @ line)
    y = jnp.where(present, y - A @ line, 0.0)
    exact = w @ jnp.abs(y) <= rounding
    size = jnp.maximum(w @ jnp.abs(y) / total, jnp.finfo(y.dtype).tiny)
    y = y / size
    above, b = jnp.full_like(y, 1 - tau), jnp.zeros_like(line)
    z = jnp.maximum(-y, 0.0) + 1e-3
    start = _State(above, 1 - above, z, z + y, b, jnp.ones(()), jnp.asarray(0))
    end = jax.lax.while_loop(
        lambda c: (c.gap > 1e-13) & (c.steps < MAX_STEPS),
        lambda c: _step(c, A, y, w, tau, solve),
        start,
    )
    # the program minimises −y·x, so b = −coefficients
    b, gap = jnp.where(exact, 0.0, end.b), jnp.where(exact, 0.0, end.gap)
    return T @ (line - b * size), gap, end.steps


def _whitening(A: Float[Array, "n p"], w: Float[Array, " n"]) -> Float[Array, "p p"]:
    """T with (AT)ᵀW(AT) = I, and columns of zeros for directions that A does not have."""
    unit = jnp.sqrt(w @ A**2)
    unit = jnp.where(unit > 0, unit, 1.0)
    values, V = jnp.linalg.eigh(weighted_gram(A / unit[None], w))
    kept = values > 10 * len(values) * jnp.finfo(A.dtype).eps * values[-1]
    root = jnp.where(kept, 1 / jnp.sqrt(jnp.where(kept, values, 1.0)), 0.0)
    return V * root[None] / unit[:, None]


def _step(c: _State, A, y, w, tau, solve) -> _State:  # noqa: PLR0917
    """A predictor step to see how far one gets, then the centred and corrected one."""
    present, total = w > 0, w.sum()
    q = 1 / (c.z / c.x + c.v / c.s)
    r = c.z - c.v

    def direction(aim, cross_x, cross_s):
        """Towards x z = aim and s v = aim, less the second-order terms."""
        shift = aim * (1 / c.x - 1 / c.s) - cross_x + cross_s
        db = solve(q, r - shift)
        dx = jnp.where(present, q * (A @ db - r + shift), 0.0)
        dz = aim / c.x - c.z - c.z / c.x * dx - cross_x
        dv = aim / c.s - c.v + c.v / c.s * dx - cross_s
        return db, dx, jnp.where(present, dz, 0.0), jnp.where(present, dv, 0.0)

    def lengths(dx, dz, dv):
        primal = jnp.minimum(_room(c.x, dx, present), _room(c.s, -dx, present))
        dual = jnp.minimum(_room(c.z, dz, present), _room(c.v, dv, present))
        return jnp.minimum(STEP_SHARE * primal, 1.0), jnp.minimum(
            STEP_SHARE * dual, 1.0
        )

    zero = jnp.zeros_like(c.x)
    _, dx, dz, dv = direction(0.0, zero, zero)
    fp, fd = lengths(dx, dz, dv)
    now = w @ (c.z * c.x + c.v * c.s)
    then = w @ ((c.z + fd * dz) * (c.x + fp * dx) + (c.v + fd * dv) * (c.s - fp * dx))
    aim = now * (then / now) ** 3 / (2 * total)
    db, dx, dz, dv = direction(aim, dx * dz / c.x, -dx * dv / c.s)
    fp, fd = lengths(dx, dz, dv)
    x, s = c.x + fp * dx, c.s - fp * dx
    z, v, b = c.z + fd * dz, c.v + fd * dv, c.b + fd * db
    r = y + A @ b
    loss = w @ (jnp.abs(r) + (2 * tau - 1) * r)
    gap = w @ (z * x + v * s) / jnp.maximum(loss, jnp.finfo(y.dtype).tiny)
    good = jnp.isfinite(gap) & jnp.all(jnp.isfinite(b))
    new = _State(x, s, z, v, b, gap, c.steps + 1)
    stop = c._replace(steps=jnp.asarray(MAX_STEPS))
    return jax.tree.map(lambda a, o: jnp.where(good, a, o), new, stop)


def _room(value: Float[Array, " n"], step: Float[Array, " n"], present) -> Array:
    """How far along a step every value stays positive."""
    room = jnp.where(
        (step < 0) & present, -value / jnp.where(step < 0, step, -1.0), 1e20
    )
    return jnp.min(room)
