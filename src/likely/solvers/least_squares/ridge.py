r"""Ridge regression from one decomposition: `vmap` over α costs almost nothing.

With weighted means removed, $B = V (Λ + αI)^{-1} V^\top X^\top W Y$ where
$X^\top W X = V Λ V^\top$; with more columns than rows, by the rows instead,
$B = X^\top W^{1/2} U (Λ + αI)^{-1} U^\top W^{1/2} Y$ where
$W^{1/2} X X^\top W^{1/2} = U Λ U^\top$. The decomposition does not depend on α, so under
`vmap(..., alphas)` it is computed once.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from likely.core.linalg import joint_moments
from likely.core.threads import threads_for
from likely.solvers.least_squares.moments import second_moments

MIN_ROW = 1e-6
"""The part of a row, of its length, that counts as lying in directions without rows."""


def ridge(
    X: Float[Array, "n d"],
    Y: Float[Array, "n k"],
    w: Float[Array, " n"],
    alpha: Float[Array, ""],
    *,
    intercept: bool = True,
) -> tuple[Float[Array, "d k"], Float[Array, " k"]]:
    r"""argmin of $\sum_i w_i\lVert y_i - x_i B - b\rVert^2 + α\lVert B\rVert^2$.

    Directions that neither the data nor α determine get coefficient zero, as in the
    solution of least norm. Rows of weight 0 under all weights have to be finite already
    (`core.fill_absent`); rows held out of one fit are.
    """
    k = Y.shape[1]
    shift_x, shift_y = jnp.zeros(X.shape[1], X.dtype), jnp.zeros(k, X.dtype)
    if intercept:  # a shift that does not depend on w: folds share the shifted rows
        shift_x, shift_y = X.mean(0), Y.mean(0)
    by = _by_rows if X.shape[0] < X.shape[1] else _by_columns
    B, mean_x, mean_y = by(X, Y, w, alpha, (shift_x, shift_y) if intercept else None)
    if not intercept:
        return B, jnp.zeros(k, X.dtype)
    return B, mean_y + shift_y - (mean_x + shift_x) @ B


def ridge_lines(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    W: Float[np.ndarray, "j n"],
    alphas: Float[np.ndarray, " m"],
    *,
    intercept: bool = True,
) -> tuple[
    Float[np.ndarray, "m j d"], Float[np.ndarray, "m j"], Float[np.ndarray, "m j"]
]:
    """Weights, intercepts and mean squared residuals for every α and weight vector.

    In NumPy: moments are added by BLAS, once for rows with the same weight in all vectors.
    """
    B = np.empty((len(alphas), len(W), X.shape[1]))
    b, variance = np.zeros(B.shape[:2]), np.empty(B.shape[:2])
    number = np.finfo(float)
    moments = second_moments(X, y, W, centre=intercept)
    with threads_for(X.shape[1]):
        for j, (m, w) in enumerate(zip(moments, W, strict=True)):
            values, V = np.linalg.eigh(m.G)
            damped = np.maximum(values, 0.0) + alphas[:, None] / w.sum()
            kept = damped > len(values) * number.eps * abs(values[-1])
            inverse = np.where(kept, 1 / np.where(kept, damped, 1.0), 0.0)
            lines = ((m.c @ V) * inverse) @ V.T
            rss = m.yy - 2 * lines @ m.c + ((lines @ m.G) * lines).sum(1)
            B[:, j], b[:, j] = lines, m.mean_y - lines @ m.mean_x
            variance[:, j] = np.maximum(np.maximum(rss, number.eps * m.yy), number.tiny)
    return B, b, variance


class RidgeFolds(NamedTuple):
    """Ridge regression on the complement of each fold; m penalties, j folds."""

    weight: Float[Array, "m j d"]
    bias: Float[Array, "m j"]
    variance: Float[Array, "m j"]
    """Mean squared residual on the training rows."""
    residual: Float[Array, "m j s"]
    """Of each held-out row."""
    leverage: Float[Array, "m j s"]
    """aᵀ(AᵀWA + αP)⁻¹a of each held-out row; infinite where nothing determines it."""
    df: Float[Array, "m j"]
    """Σw less the trace of the hat matrix, on the training rows."""


def ridge_folds(
    X: Float[Array, "j s d"],
    y: Float[Array, "j s"],
    w: Float[Array, "j s"],
    alphas: Float[Array, " m"],
    *,
    intercept: bool = True,
) -> RidgeFolds:
    """The errors on each fold of the fit to all others, for every α, in one pass.

    The moments of all rows less those of a fold are those of its complement, so they
    are computed once instead of once a fold. Rows of weight 0 have to be finite.
    """
    total, d = w.sum(), X.shape[2]
    shift_x = jnp.zeros(d, X.dtype)
    shift_y = jnp.zeros((), X.dtype)
    if intercept:
        shift_x = jnp.sum(w[..., None] * X, (0, 1)) / total
        shift_y = jnp.sum(w * y) / total
    shift = shift_x, shift_y[None]
    in_fold = jax.lax.map(
        lambda part: joint_moments(part[0], part[1][:, None], part[2], shift), (X, y, w)
    )
    others = in_fold.sum(0)[None] - in_fold
    weights, means = others[:, -1, -1], others[:, -1] / others[:, -1, -1:]
    if intercept:
        others = others - others[:, -1, :, None] * means[:, None]
    spectra = jax.lax.map(
        jnp.linalg.eigh, others[:, :d, :d]
    )  # faster than side by side

    def fold(rows, moments, spectrum):
        (X, y), (M, means, weight), (values, V) = rows, moments, spectrum
        X, y = X - shift_x[None], y - shift_y
        G, c = M[:d, :d], M[:d, d]
        inverse = jax.vmap(lambda alpha: _damped_inverse(values, alpha))(alphas)
        B = ((V.T @ c)[None] * inverse) @ V.T  # (m, d)
        b = (means[d] - B @ means[:d]) if intercept else jnp.zeros(len(B), B.dtype)
        rss = M[d, d] - 2 * (B @ c) + jnp.sum((B @ G) * B, 1)
        number = jnp.finfo(B.dtype)
        variance = jnp.maximum(rss, number.eps * M[d, d]) / weight
        variance = jnp.maximum(variance, number.tiny)  # y may be constant
        r = y[None] - jax.lax.optimization_barrier(B @ X.T) - b[:, None]
        centre = means[:d] @ V if intercept else jnp.zeros(d, X.dtype)
        q = (jax.lax.optimization_barrier(X @ V) - centre[None]) ** 2
        leverage = inverse @ q.T + (1 / weight if intercept else 0.0)
        undetermined = q @ (values <= _rounding(values)).astype(q.dtype)
        outside = undetermined > MIN_ROW**2 * jnp.sum(q, 1)
        unknown = jnp.where(alphas == 0, jnp.inf, 0.0)[:, None]
        leverage = jnp.where(outside[None], leverage + unknown, leverage)
        df = weight - intercept - inverse @ jnp.maximum(values, 0.0)
        return B, b, variance, r, leverage, df

    moments = others, means, weights
    B, b, *rest = jax.vmap(fold, out_axes=1)((X, y), moments, spectra)
    return RidgeFolds(B, b + shift_y - B @ shift_x, *rest)


def _by_columns(X, Y, w, alpha, shift: tuple | None):
    """B from the moments of the columns, in one pass; and the means after the shift."""
    d, k = X.shape[1], Y.shape[1]
    none = jnp.zeros(d, X.dtype), jnp.zeros(k, X.dtype)
    M = joint_moments(X, Y, w, none if shift is None else shift)
    means = M[-1] / M[-1, -1]
    if shift is not None:
        M = M - jnp.outer(M[-1], means)
    values, V = jnp.linalg.eigh(M[:d, :d])
    inverse = _damped_inverse(values, alpha)
    B = V @ ((V.T @ M[:d, d : d + k]) * inverse[:, None])
    return B, means[:d], means[d : d + k]


def _by_rows(X, Y, w, alpha, shift: tuple | None):
    """B from the inner products of the rows; and the means after the shift."""
    if shift is not None:
        X, Y = X - shift[0][None], Y - shift[1][None]
    mean_x, mean_y = (w @ X) / w.sum(), (w @ Y) / w.sum()
    if shift is not None:
        X, Y = X - mean_x[None], Y - mean_y[None]
    root = jnp.sqrt(w)[:, None]
    Z = root * X
    values, U = jnp.linalg.eigh(Z @ Z.T)
    inverse = _damped_inverse(values, alpha)
    dual = U @ ((U.T @ (root * Y)) * inverse[:, None])
    return (dual.T @ Z).T, mean_x, mean_y


def _damped_inverse(values: Float[Array, " m"], alpha) -> Float[Array, " m"]:
    """1/(λ + α), and 0 where that is 1/0 up to rounding."""
    damped = jnp.maximum(values, 0.0) + alpha
    kept = damped > _rounding(values)
    return jnp.where(kept, 1 / jnp.where(kept, damped, 1.0), 0.0)


def _rounding(values: Float[Array, " m"]) -> Float[Array, ""]:
    """Eigenvalues up to this are zero as far as one can know."""
    return len(values) * jnp.finfo(values.dtype).eps * jnp.abs(values[-1])
