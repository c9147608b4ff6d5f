r"""Batch normalisation with row weights, and running statistics as state."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Bool, Float

from likely.core.checks import InputError
from likely.typing import Key


class Running(eqx.Module):
    """Running mean and variance of each column."""

    mean: Float[Array, " d"]
    variance: Float[Array, " d"]


class BatchNorm(eqx.Module):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ for each column, the last axis.

    In training (`key` given) m and s² are the weighted mean and population variance
    of the batch, over its rows and, for images, its positions; the running statistics
    move towards them by `rate`. Rows of weight 0 have no effect, and a batch of such rows
    leaves the statistics unchanged. At inference (`key=None`) m and s² are the running
    statistics. These have at least float32 precision and no gradient.
    """

    scale: Float[Array, " d"]
    shift: Float[Array, " d"]
    epsilon: float = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(self, size: int, *, epsilon: float = 1e-5, rate: float = 0.1):
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)
        self.epsilon, self.rate = float(epsilon), float(rate)

    def initial_state(self) -> Running:
        """Running statistics with mean 0 and variance 1."""
        wide = jnp.promote_types(self.scale.dtype, jnp.float32)
        return Running(
            jnp.zeros(self.shift.shape, wide), jnp.ones_like(self.scale, wide)
        )

    def __call__(
        self,
        X: Float[Array, "n *positions d"],
        *,
        w: Float[Array, " n"] | None = None,
        key: Key | None = None,
        state: Running | None = None,
    ) -> tuple[Float[Array, "n *positions d"], Running]:
        """Normalise, and update the running statistics in training."""
        if state is None:
            raise InputError(
                "BatchNorm keeps running statistics and got none; start with "
                "initial_state(model) and pass on the state that each call returns."
            )
        wide = jnp.promote_types(X.dtype, jnp.float32)
        rows = X.reshape(len(X), -1, X.shape[-1]).astype(wide)
        scale, shift = self.scale.astype(wide), self.shift.astype(wide)
        if key is None:
            slope = scale * jax.lax.rsqrt(state.variance + self.epsilon).astype(wide)
            Y = (rows - _each(state.mean.astype(wide))) * _each(slope) + _each(shift)
        else:
            w = jnp.ones(len(X)) if w is None else w
            Y, mean, variance = normalize(
                rows, w.astype(wide), scale, shift, self.epsilon
            )
            state = self._updated(state, mean, variance, w.sum() > 0)
        return Y.astype(X.dtype).reshape(X.shape), state

    def _updated(self, state: Running, mean, variance, any_row) -> Running:
        rate = jnp.where(any_row, self.rate, 0.0).astype(state.mean.dtype)
        found = jax.lax.stop_gradient(Running(mean, variance))
        return jax.tree.map(
            lambda old, new: old + rate * (new.astype(old.dtype) - old), state, found
        )


def plain_normalize(
    X: Float[Array, "n p d"],
    w: Float[Array, " n"],
    scale: Float[Array, " d"],
    shift: Float[Array, " d"],
    epsilon: float,
) -> tuple[Float[Array, "n p d"], Float[Array, " d"], Float[Array, " d"]]:
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ of the present rows, differentiated by JAX.

    It is the reference of the tests for `normalize`.
    """
    X, v = jnp.where(_present(w), X, 0), _shares(w, X.shape[1])[:, None, None]
    m = jnp.sum(v * X, (0, 1))
    s2 = jnp.sum(v * (X - _each(m)) ** 2, (0, 1))
    Z = (X - _each(m)) / _each(jnp.sqrt(s2 + epsilon))
    return _each(scale) * Z + _each(shift), m, s2


@partial(jax.custom_jvp, nondiff_argnums=(4,))
def normalize(
    X: Float[Array, "n p d"],
    w: Float[Array, " n"],
    scale: Float[Array, " d"],
    shift: Float[Array, " d"],
    epsilon: float,
) -> tuple[Float[Array, "n p d"], Float[Array, " d"], Float[Array, " d"]]:
    r"""$γ r (x - m) + δ$ with $r = 1/\sqrt{s^2 + ε}$, and m and s², of rows of positions.

    Each row has the weight $v_i = w_i/(p\sum w)$ at each of its p positions. To read memory
    as rarely as possible, sums run over the positions of each row in memory order, and
    weights and absent rows enter only the n sums. With $u = x - m$ the derivative is
    $\dot y = γ r\,\dot x + u \dot k + \dot b$,

    $$\dot m = v^T \dot x, \quad \dot{(s^2)} = 2 v^T(u \dot x), \quad
    \dot k = r\dot γ - \tfrac12 γ r^3 \dot{(s^2)}, \quad
    \dot b = \dot δ - γ r \dot m,$$

    so that the backward pass needs two sums for x, γ and δ together: of the cotangents,
    and of their products with u. Weights can be differentiated too.
    """
    m, s2, _, _ = _moments(X, w)
    a = scale * jax.lax.rsqrt(s2 + epsilon)
    return _centred(X, w, m) * _each(a) + _each(shift), m, s2


@partial(normalize.defjvp, symbolic_zeros=True)
def _normalize_jvp(epsilon, primals, tangents):
    (X, w, scale, shift), (dX, dw, dscale, dshift) = primals, tangents
    present, p = _present(w), X.shape[1]
    m, s2, first, second = _moments(X, w)
    r, u = jax.lax.rsqrt(s2 + epsilon), _centred(X, w, m)
    a, v = scale * r, _shares(w, p)
    dY, dm, ds = 0.0, jnp.zeros_like(m), jnp.zeros_like(m)
    if not isinstance(dX, SymbolicZero):
        dX = jnp.where(present, dX, 0)
        dY = dX * _each(a)
        dm, ds = _sum(v, dX.sum(1)), 2 * _sum(v, (u * dX).sum(1))
    if not isinstance(dw, SymbolicZero):
        dv = _shares(dw, p, of=w)
        dm = dm + _sum(dv, first - p * m[None])
        ds = ds + _sum(dv, second - p * s2[None])
    k, b = _each(-0.5 * a * r**2 * ds), _each(-a * dm)
    if not isinstance(dscale, SymbolicZero):
        k = k + _each(r * dscale)
    if not isinstance(dshift, SymbolicZero):
        b = b + _each(dshift)
    # u k, which is −m k in an absent row: masked by row, to sum X in memory order
    b = b - jnp.where(present, 0, k * _each(m))
    dY = dY + (X - _each(m)) * jnp.where(present, k, 0) + b
    return (u * _each(a) + _each(shift), m, s2), (dY, dm, ds)


def _moments(X, w):
    """m, s², and the sums of x and u² over the positions of each row."""
    present, p = w[:, None] > 0, X.shape[1]
    v = _shares(w, p)
    first = jnp.where(present, X.sum(1), 0)
    m = _sum(v, first)
    second = ((X - _each(m)) ** 2).sum(1)
    second = jnp.where(present, second, p * m[None] ** 2)
    return m, _sum(v, second), first, second


def _centred(X, w, m):
    """u = x − m, with absent rows set to 0 first."""
    return jnp.where(_present(w), X, 0) - _each(m)


def _shares(w, p, of=None):
    """w / (p Σ of), the share of each position of each row in the total weight."""
    total = (w if of is None else of).sum()
    return w / (p * jnp.where(total > 0, total, 1))


def _sum(v: Float[Array, " n"], S: Float[Array, "n d"]) -> Float[Array, " d"]:
    """Σᵢ vᵢ Sᵢ, as a sum of products, since accelerators round the factors of a matmul."""
    return jnp.sum(v[:, None] * S, 0)


def _present(w: Float[Array, " n"]) -> Bool[Array, "n 1 1"]:
    return (w > 0)[:, None, None]


def _each(a: Float[Array, " d"]) -> Float[Array, "1 1 d"]:
    """One number for each column, broadcast over rows and positions."""
    return a[None, None]
