r"""Batch normalisation with weighted, threaded running statistics (I5, I6, I7)."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.typing import Key


class Running(eqx.Module):
    """Running mean and variance of each column."""

    mean: Float[Array, " d"]
    variance: Float[Array, " d"]


class BatchNorm(eqx.Module):
    r"""$γ\,(x - m)/\sqrt{s^2 + ε} + δ$ for each column, the last axis.

    In training (`key` given) m and s² are the weighted mean and population variance
    of the batch, over its rows and, of images, its positions; and the running statistics
    move towards them by `rate`. An absent row moves nothing, a batch of absent rows moves
    nothing at all. In use (`key=None`) m and s² are the running statistics. They are
    float32 at least, whatever comes in, and no derivative goes through them.
    """

    scale: Float[Array, " d"]
    shift: Float[Array, " d"]
    epsilon: float = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(self, size: int, *, epsilon: float = 1e-5, rate: float = 0.1):
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)
        self.epsilon, self.rate = float(epsilon), float(rate)

    def initial_state(self) -> Running:
        """Mean 0, variance 1."""
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
        """Normalise, and move the running statistics when training."""
        if state is None:
            raise InputError(
                "BatchNorm keeps running statistics and got none; start with "
                "initial_state(model) and hand on the state that each call returns."
            )
        wide = jnp.promote_types(X.dtype, jnp.float32)
        rows = X.reshape(-1, X.shape[-1]).astype(wide)
        if key is None:
            slope = jax.lax.rsqrt(state.variance + self.epsilon).astype(wide)
            Z = (rows - state.mean.astype(wide)[None]) * slope[None]
        else:
            w = jnp.ones(len(X)) if w is None else w
            each = jnp.repeat(w.astype(wide), len(rows) // len(X))
            Z, mean, variance = standardize(rows, each, self.epsilon)
            state = self._moved(state, mean, variance, w.sum() > 0)
        Z = Z * self.scale.astype(wide)[None] + self.shift.astype(wide)[None]
        return Z.astype(X.dtype).reshape(X.shape), state

    def _moved(self, state: Running, mean, variance, any_row) -> Running:
        rate = jnp.where(any_row, self.rate, 0.0).astype(state.mean.dtype)
        found = jax.lax.stop_gradient(Running(mean, variance))
        return jax.tree.map(
            lambda old, new: old + rate * (new.astype(old.dtype) - old), state, found
        )


def plain_standardize(
    X: Float[Array, "n d"], w: Float[Array, " n"], epsilon: float
) -> tuple[Array, Array, Array]:
    r"""$(x - m)/\sqrt{s^2 + ε}$, m and s² of the present rows: the oracle."""
    X, v = _present(X, w)
    mean = jnp.sum(v[:, None] * X, 0)
    variance = jnp.sum(v[:, None] * (X - mean[None]) ** 2, 0)
    return (X - mean[None]) / jnp.sqrt(variance + epsilon)[None], mean, variance


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def standardize(
    X: Float[Array, "n d"], w: Float[Array, " n"], epsilon: float
) -> tuple[Array, Array, Array]:
    r"""z, m and s² of each column with the derivative written by hand.

    With $v = w/\sum w$ and $r = 1/\sqrt{s^2 + ε}$: $\dot m = v^T\dot X$,
    $\dot{(s^2)} = 2\,v^T(X - m)\dot X$ and
    $\dot z = r\,(\dot x - \dot m - z\,v^T(z\dot X))$; its transpose, the way back, is two
    sums over the rows. Weights may be differentiated too.
    """
    Z, m, s2, _ = _standardized(X, w, epsilon)
    return Z, m, s2


@partial(standardize.defjvp, symbolic_zeros=True)
def _standardize_jvp(epsilon, primals, tangents):
    (X, w), (dX, dw) = primals, tangents
    Z, m, s2, r = _standardized(X, w, epsilon)
    X, v = _present(X, w)
    turn, dm = jnp.zeros_like(X), jnp.zeros_like(m)
    ds = dm  # ½ r² times the derivative of s²
    if not isinstance(dX, SymbolicZero):
        turn, _ = _present(dX, w)
        dm, ds = _sum(v, turn), r * _sum(v, Z * turn)
    if not isinstance(dw, SymbolicZero):
        dv = dw / jnp.where(w.sum() > 0, w.sum(), 1)
        dm = dm + _sum(dv, X - m[None])
        ds = ds + 0.5 * _sum(dv, Z**2 - (s2 * r**2)[None])
    return (Z, m, s2), (r[None] * (turn - dm[None]) - Z * ds[None], dm, 2 * ds / r**2)


def _standardized(X, w, epsilon):
    X, v = _present(X, w)
    m = _sum(v, X)
    s2 = _sum(v, (X - m[None]) ** 2)
    r = jax.lax.rsqrt(s2 + epsilon)
    return (X - m[None]) * r[None], m, s2, r


def _sum(v: Float[Array, " n"], X: Float[Array, "n d"]) -> Float[Array, " d"]:
    """Σᵢ vᵢ xᵢ; no accelerator may round its factors."""
    return jnp.matmul(v, X, precision="highest")


def _present(X, w):
    """Rows with absent ones made 0, and the share of each row in the weight."""
    total = w.sum()
    return jnp.where((w > 0)[:, None], X, 0), w / jnp.where(total > 0, total, 1)
