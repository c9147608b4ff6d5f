r"""Fits with more columns than rows, in the space that the rows span.

The coefficients of maximum likelihood under a ridge, and those of least norm without one,
are combinations of the rows. With orthonormal directions V that span the centred rows,

$$X - 1c^\top = R^\top V^\top, \qquad η = (X - 1c^\top) V γ + b, \qquad w = V γ, \qquad
  \lVert w \rVert = \lVert γ \rVert,$$

so a fit to the n − 1 columns $(X - 1c^\top) V$ is the fit to all d of them, whatever the family.
Fits to some of the rows (folds, resamples) are in the same space.
"""

import contextlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve, svd
from scipy.sparse import issparse

from likely.base.rows import dense
from likely.core.threads import threads_for

MAX_ROWS = 1000
"""Rows up to which their directions cost less than a fit without them."""
MIN_PIVOT = 1e-9
"""The least part of a row, of the longest, that is no combination of rows before it."""
MAX_CONDITION = 1e6
"""Of the products of rows, for which directions from these keep ten digits."""
MIN_RIDGE = 1e-8
"""The least ridge, as a part of the summed squares, beside which these keep digits."""
MAX_SPARSE_ROWS, MAX_WRITTEN_OUT = 300, 10_000_000
"""Rows of a sparse matrix, and numbers with its zeros, for which the same holds."""


class RowSpace(NamedTuple):
    """What the rows are measured from, and orthonormal directions in which they differ."""

    centre: Float[np.ndarray, " d"] | None
    directions: Float[np.ndarray, "d r"]


def is_wide(X: Any, w: Float[np.ndarray, " n"], intercept: bool) -> bool:
    """Whether there are more coefficients than present rows."""
    return X.shape[1] + intercept > int((w > 0).sum())


def is_saturated(X: Any, w: Float[np.ndarray, " n"], intercept: bool) -> bool:
    """Whether there are at least as many coefficients as present rows."""
    return X.shape[1] + intercept >= int((w > 0).sum())


def row_space_is_cheap(X: Any, w: Float[np.ndarray, " n"]) -> bool:
    """Whether a sparse matrix is better written out, and taken to the space of its rows."""
    n, d = X.shape
    return is_wide(X, w, True) and n <= MAX_SPARSE_ROWS and n * d <= MAX_WRITTEN_OUT


def row_space(
    X: Any, w: Float[np.ndarray, " n"], *, intercept: bool
) -> RowSpace | None:
    """The directions in which rows differ; None unless columns are more, and rows few.

    Args:
        X: the columns.
        w: weights.
        intercept: whether the model has one, so that columns may be shifted.
    """
    if not is_wide(X, w, intercept) or not 2 <= (w > 0).sum() <= MAX_ROWS:
        return None
    rows = dense(X[w > 0])
    centre = _mean(rows) if intercept else None
    Z = rows if centre is None else rows - centre
    with threads_for(len(Z)):
        V = _directions(Z, intercept)
    return None if V is None else RowSpace(centre, V)


def ridge_by_rows_is_safe(
    X: Any, w: Float[np.ndarray, " n"], alpha: float, *, intercept: bool
) -> bool:
    """Whether `ridge_by_rows` loses no digits, for more columns than rows, and these few."""
    here = w > 0
    if issparse(X) or not (is_wide(X, w, intercept) and here.sum() <= MAX_ROWS):
        return False
    rows, weights = (X, w) if here.all() else (X[here], w[here])
    with np.errstate(over="ignore"):
        squares = float(weights @ np.einsum("ij,ij->i", rows, rows))
    return alpha > MIN_RIDGE * squares


def ridge_by_rows(
    X: Float[np.ndarray, "n d"],
    Y: Float[np.ndarray, "n k"],
    w: Float[np.ndarray, " n"],
    alpha: float,
    *,
    intercept: bool,
) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    r"""Weights $Z^\top(ZZ^\top + αI)^{-1}Y$ of a ridge, intercepts and mean squared residuals.

    Z and Y are about their means where there is an intercept, in units of 1/√w.
    """
    here = w > 0
    if not here.all():
        X, Y, w = X[here], Y[here], w[here]
    share, root = w / w.sum(), np.sqrt(w)[:, None]
    x, y = (share @ X, share @ Y) if intercept else (0.0, np.zeros(Y.shape[1]))
    Z, target = root * (X - x), root * (Y - y)
    with threads_for(len(Z)):
        K = Z @ Z.T
        K[np.diag_indices(len(K))] += alpha
        factor = cho_factor(K, check_finite=False)
        A = cho_solve(factor, target, check_finite=False)
        A += cho_solve(factor, target - K @ A, check_finite=False)
        W = Z.T @ A
    return W, y - x @ W if intercept else y, alpha**2 * (A**2).sum(0) / w.sum()


def _directions(Z: Float[np.ndarray, "n d"], centred: bool) -> np.ndarray | None:
    r"""Orthonormal directions of the rows, by the cheapest decomposition that is safe.

    That is Cholesky's of their products $ZZ^\top = LL^\top$, whose directions are
    $L^{-1}Z$, where rows are far from dependent; QR; or singular vectors if they depend.
    Rows that sum to 0 are one more than their directions.
    """
    free = Z[:-1] if centred else Z
    with np.errstate(all="ignore"), contextlib.suppress(np.linalg.LinAlgError):
        K = free @ free.T
        inverse = np.linalg.inv(np.linalg.cholesky(K))
        if (inverse**2).sum() * np.trace(K) < MAX_CONDITION:
            return (inverse @ free).T
    Q, R = np.linalg.qr(free.T)
    size = np.abs(np.diagonal(R))
    if size.min() > MIN_PIVOT * size.max():
        return Q
    _, s, Vt = svd(Z, full_matrices=False, check_finite=False)
    kept = s > max(Z.shape) * np.finfo(float).eps * s[0]
    return np.ascontiguousarray(Vt[kept].T) if kept.any() else None


def _mean(rows: np.ndarray) -> np.ndarray:
    """The mean of rows, without overflow, and exact where a column is constant."""
    return rows[0] + ((rows - rows[0]) / len(rows)).sum(0)
