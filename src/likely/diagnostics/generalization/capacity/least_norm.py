r"""Least squares of least norm: $\hat β = A^+ y$, for any number of columns.

With fewer columns than rows it is least squares; with more it is, among all coefficients that fit
the rows exactly, the shortest: $\hat β = Q R^{-\top} y$ with $A^\top = QR$.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

MIN_PIVOT = 1e-12
"""The share of the largest pivot below which a matrix counts as rank-deficient."""


def least_norm(
    A: Float[np.ndarray, "n p"], y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " p"]:
    """The shortest of all coefficients that minimise the squared error.

    Args:
        A: the design.
        y: the responses.
    """
    n, p = A.shape
    tall = p <= n
    Q, R = np.linalg.qr(A if tall else A.T)
    pivots = np.abs(np.diagonal(R))
    if not pivots.min() > MIN_PIVOT * pivots.max():
        return np.linalg.lstsq(A, y, rcond=max(n, p) * np.finfo(float).eps)[0]
    if tall:
        return solve_triangular(R, Q.T @ y, check_finite=False)
    return Q @ solve_triangular(R.T, y, lower=True, check_finite=False)
