r"""Non-negative least squares by coordinate descent, for all rows at once.

For $\min_{F \ge 0} \tfrac12 \lVert X - F^\top B \rVert^2$ with $G = B B^\top$ and $A = B X^\top$,
row t of F has its best value at

$$F_t \leftarrow \max\Bigl(0,\; F_t + \frac{A_t - G_t F}{G_{tt}}\Bigr),$$

a vector operation over the columns of F (hierarchical alternating least squares). A and G cost
a matrix product each, a sweep over all t much less, so that several sweeps are made for
each product (Gillis and Glineur, 2012). F has a row for each component, so that the sweeps are
over columns side by side.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.products import column_product, row_product
from likely.latent.factors.least_squares_kernel import improve

MAX_ROW_SWEEPS, MAX_COLUMN_SWEEPS = 4, 8
"""Sweeps of Z and of B for each matrix product, at most."""
LEAST_PROGRESS = 0.05
"""Sweeps of B end when one changes it by less than this share of what the first did."""
MAX_SWEEPS_ALONE, SETTLED = 5000, 1e-11
"""Sweeps for rows of given B, at most; the relative change at which a row is done."""


def fit_least_squares(
    X: Any,
    w: Float[np.ndarray, " n"],
    Z: Float[np.ndarray, "k n"],
    B: Float[np.ndarray, "k d"],
    penalties: tuple[float, float, float, float],
    *,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Alternate between Z and B until both are nearly stationary.

    Args:
        X: rows, dense or sparse.
        w: their weights.
        Z: to begin with; changed in place.
        B: to begin with; changed in place.
        penalties: of |Z|, of Z²/2, of |B| and of B²/2.
        tol: stop where the projected gradient is this share of the first one.
        max_iter: the largest number of iterations.

    Returns:
        Z, B, and the number of iterations.
    """
    l1_z, l2_z, l1_b, l2_b = penalties
    k, d = B.shape
    weighted = not (w == 1.0).all()
    unit, first = np.eye(k), 0.0
    of_rows = min(MAX_ROW_SWEEPS, 1 + d // (2 * k))
    of_columns = min(MAX_COLUMN_SWEEPS, 1 + int(w.sum()) // (2 * k))
    ones = np.ones(d)
    for step in range(1, max_iter + 1):
        A = _products(X, B) - l1_z
        violation = improve(Z, B @ B.T + l2_z * unit, A, w, of_rows, 0.0, 0.0)
        V = Z * w if weighted else Z
        A = np.ascontiguousarray(column_product(X, V.T).T) - l1_b
        G = column_product(V.T, Z.T) + l2_b * unit
        violation += improve(B, G, A, ones, of_columns, LEAST_PROGRESS, 0.0)
        first = first or violation
        if violation <= tol * first:
            return Z, B, step
    return Z, B, max_iter


def solve_rows(
    X: Any, B: Float[np.ndarray, "k d"], l1: float, l2: float
) -> Float[np.ndarray, "n k"]:
    """The Z of given B, row by row."""
    k = len(B)
    G, A = B @ B.T + l2 * np.eye(k), _products(X, B) - l1
    Z = np.zeros((k, X.shape[0]))
    improve(Z, G, A, np.ones(X.shape[0]), MAX_SWEEPS_ALONE, 0.0, SETTLED)
    return Z.T.copy()


def _products(X: Any, B: np.ndarray) -> np.ndarray:
    """B Xᵀ, contiguous."""
    return np.ascontiguousarray(row_product(X, B.T).T)
