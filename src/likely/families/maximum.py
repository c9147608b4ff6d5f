r"""Marginal maximum likelihood where there is no closed form.

Newton's method on the weighted mean of $-\log p(y_i \mid η)$ over one η for all rows,
with the absolute values of the curvatures (so that saddles repel) plus a damping that
grows when a step fails. η has few entries, so the Hessian costs little. Safe under
`jit` and `vmap`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num

from likely.core.rows import weighted_mean
from likely.families.family import AbstractFamily

MAX_STEPS = 100


class _Search(NamedTuple):
    """The best u so far with its loss, gradient and Hessian, and the next step."""

    u: Float[Array, " k"]
    f: Float[Array, ""]
    g: Float[Array, " k"]
    H: Float[Array, "k k"]
    damping: Float[Array, ""]
    step: Float[Array, " k"]
    steps: Int[Array, ""]


def maximum(
    family: AbstractFamily,
    y: Num[Array, " n"],
    w: Float[Array, " n"],
    start: Float[Array, " k"],
    unit: Float[Array, " k"] | float = 1.0,
) -> Float[Array, " k"]:
    """The local optimum near `start`; `unit` is a natural step in each entry of η."""
    eps = jnp.finfo(start.dtype).eps

    def loss(u: Float[Array, " k"]) -> Float[Array, ""]:
        rows = jnp.broadcast_to(start + unit * u, (len(y), len(u)))
        return weighted_mean(-family.log_prob(rows, y), w)

    def slope(u: Float[Array, " k"]):
        f, g = jax.value_and_grad(loss)(u)
        return g, (f, g)

    def moving(s: _Search) -> Array:
        return (s.steps == 0) | (jnp.abs(s.step).max() > jnp.sqrt(eps))

    def unfinished(s: _Search) -> Array:
        return moving(s) & (s.damping < 1e12) & (s.steps < MAX_STEPS)

    def advance(s: _Search) -> _Search:
        u = s.u + s.step
        H, (f, g) = jax.jacfwd(slope, has_aux=True)(u)
        better = f <= s.f + 4 * eps * jnp.abs(s.f)
        found = s._replace(u=u, f=f, g=g, H=H, damping=0.01 * s.damping)
        kept = s._replace(damping=10 * s.damping + 1e-6)
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), found, kept)
        return _with_step(best, eps)._replace(steps=s.steps + 1)

    zero, number = jnp.zeros_like(start), jnp.zeros_like(start[0])
    begin = _Search(
        zero,
        number + jnp.finfo(start.dtype).max,
        zero,
        jnp.eye(len(start), dtype=start.dtype),
        number + 0.1,
        zero,
        jnp.asarray(0),
    )
    end = jax.lax.while_loop(unfinished, advance, begin)
    last = jnp.where(moving(end), 0.0, end.step)  # of the size of rounding errors
    return start + unit * (end.u + last)


def _with_step(s: _Search, eps: Any) -> _Search:
    """The search with its next step: Newton's, damped, at most 2 along each axis."""
    curvature, axes = jnp.linalg.eigh(s.H)
    along = (s.g @ axes) / jnp.maximum(jnp.abs(curvature) + s.damping, eps)
    return s._replace(step=-jnp.clip(along, -2.0, 2.0) @ axes.T)
