r"""What a fit would be without one row, by one Newton step from the fit.

Let η depend on the parameters θ by the Jacobians $J_i$ (k, q) of the rows, let $g_i$ and $Λ_i$
be the first and second derivatives of the loss of row i in η, and P a diagonal penalty. With

$$H = \sum_i w_i J_i^\top Λ_i J_i + P, \qquad M_i = J_i H^{-1} J_i^\top,$$

the step from θ to the minimum without row i (all of its weight) is

$$θ - θ_{(-i)} = -w_i H^{-1} J_i^\top (I - w_i Λ_i M_i)^{-1} g_i .$$

For least squares, with or without a ridge, there is nothing beyond that step: it is exact, and
$h_i = w_i M_i$ is the leverage. For a linear model $J_i = I \otimes a_i^\top$; for a network the
Jacobians are those at the fit, and H is the Gauss-Newton matrix.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from likely.core.checks import InputError

MAX_CONDITION = 1e10
"""The largest ratio of diagonal entries of R up to which columns count as independent."""
MIN_SINGULAR_VALUE = 1e-11
"""Smaller ones, of columns of length 1, are zero."""
ROUNDING = 1e-9
"""Eigenvalues of Λ that are smaller, in units of the largest one of the row, are zero."""
MAX_ENTRIES = 4e8
"""The most numbers in the Jacobians of all rows."""
FULL_LEVERAGE = 1 - 1e-9
"""From here on a row decides a parameter alone."""


class Linearised(NamedTuple):
    """Rows around a fit, with η linear in θ."""

    J: Float[np.ndarray, "n k q"]
    """The derivatives of η in θ."""
    gradient: Float[np.ndarray, "n k"]
    """The derivatives of the loss in η."""
    hessian: Float[np.ndarray, "n k k"]
    """Its second derivatives, positive semi-definite."""
    w: Float[np.ndarray, " n"]
    penalty: Float[np.ndarray, " q"]
    """The diagonal of P."""

    def inverse_root(self) -> Float[np.ndarray, "q r"]:
        r"""T with $T T^\top = H^{-1}$, or the pseudo-inverse where H is singular."""
        n, k, q = self.J.shape
        if n * k * q > MAX_ENTRIES:
            raise InputError(
                f"{n:,} rows with {k} outputs and {q:,} parameters are too many for the "
                "Jacobians to be kept; give fewer rows."
            )
        root = np.sqrt(self.w)[:, None, None] * _roots(self.hessian)
        R = np.einsum("nlk,nkq->nlq", root, self.J).reshape(n * k, q)
        R = np.concatenate([R, np.diag(np.sqrt(self.penalty))[self.penalty > 0]])
        length = np.sqrt((R**2).sum(0))
        length = np.where(length > 0, length, 1.0)
        return _inverse_of_factor(R / length) / length[:, None]


class Steps(NamedTuple):
    """How the fit would change without each row."""

    change: Float[np.ndarray, "n q"]
    """θ − θ without the row."""
    eta_change: Float[np.ndarray, "n k"]
    """η of the row without it, less η."""
    leverage: Float[np.ndarray, " n"]
    """tr(w Λ M): how much the prediction of the row depends on itself, from 0 to k."""
    root: Float[np.ndarray, "q r"]
    """T with $T T^\\top = H^{-1}$."""


def steps(rows: Linearised) -> Steps:
    """One Newton step for each row that is left out; exact where the loss is quadratic."""
    T = rows.inverse_root()
    Z = rows.J @ T
    M = Z @ Z.swapaxes(1, 2)
    own = rows.w[:, None, None] * rows.hessian @ M
    leverage = np.trace(own, axis1=1, axis2=2)
    left = np.eye(M.shape[1]) - own
    alone = np.linalg.det(left) < 1 - FULL_LEVERAGE
    left[alone] = np.eye(M.shape[1])
    G = np.linalg.solve(left, rows.gradient[:, :, None])
    step = rows.w[:, None] * np.einsum("nkr,nk->nr", Z, G[:, :, 0])
    change = -step @ T.T
    eta_change = rows.w[:, None] * (M @ G)[:, :, 0]
    change[alone], eta_change[alone] = np.nan, np.nan
    return Steps(change, eta_change, leverage, T)


def _roots(H: Float[np.ndarray, "n k k"]) -> Float[np.ndarray, "n k k"]:
    """S with SᵀS = H for each row; negative eigenvalues count as zero, as rounding does."""
    if H.shape[1] == 1:
        return np.sqrt(np.maximum(H, 0.0))
    values, U = np.linalg.eigh(0.5 * (H + H.swapaxes(1, 2)))
    values = np.where(values > ROUNDING * values[:, -1:], values, 0.0)
    return np.sqrt(values)[:, :, None] * U.swapaxes(1, 2)


def _inverse_of_factor(R: Float[np.ndarray, "m q"]) -> Float[np.ndarray, "q r"]:
    """T with T Tᵀ = (RᵀR)⁺."""
    if len(R) >= R.shape[1]:
        upper: Any = np.linalg.qr(R, mode="r")
        own = np.abs(np.diagonal(upper))
        if own.min() * MAX_CONDITION > own.max():
            return solve_triangular(upper, np.eye(len(upper)))
        R = upper
    _, s, Vt = np.linalg.svd(R, full_matrices=False)
    kept = s > MIN_SINGULAR_VALUE * s.max(initial=0.0)
    return Vt[kept].T / s[kept]
