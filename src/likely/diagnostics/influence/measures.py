r"""Measures of the influence of rows on a linear model, from how its coefficients change.

With $Δ_i = θ - θ_{(-i)}$, the dispersion φ (s² for least squares, 1 for counts and classes), q
coefficients and the leverage $h_i$:

    Cook's distance   Δᵀ H Δ / (q φ)                    all coefficients together
    DFBETAS           Δ_j / (√φ₍₋ᵢ₎ √(H⁻¹)_jj)          one coefficient, in standard errors
    DFFITS            t_i √(h / (1 − h))                the prediction of the row, in the same
    studentised       r / √(φ (1 − h))                  the residual in units of its spread

For least squares φ₍₋ᵢ₎ is the variance without the row, and the externally studentised residual
$t_i = r_i / \sqrt{φ_{(-i)}(1 - h_i)}$ has Student's distribution. Otherwise r is Pearson's
residual, and φ is that of all rows.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

from likely.diagnostics.influence.linear_fit import LinearFit
from likely.diagnostics.influence.linearised import Linearised, Steps
from likely.families import Gamma, Normal, Tweedie


class Measures(NamedTuple):
    """The influence of each row on a linear model."""

    cooks: Float[np.ndarray, " n"]
    dfbetas: Float[np.ndarray, "n q"]
    dffits: Float[np.ndarray, " n"]
    internal: Float[np.ndarray, " n"]
    """Residuals in units of their spread, by the dispersion of all rows."""
    external: Float[np.ndarray, " n"]
    """The same by the dispersion without the row, for least squares."""
    p_outlier: Float[np.ndarray, " n"]
    """How likely an external residual is that is at least as large, for one row."""
    own: Float[np.ndarray, " n"]
    """How much more nats the row costs where the model does not know it."""
    dispersion: float


def measures(fit: LinearFit, rows: Linearised, found: Steps) -> Measures:
    """The measures of all rows.

    Args:
        fit: the model.
        rows: with their derivatives.
        found: how the fit would change without each row.
    """
    df = float(fit.w.sum()) - _effective(rows, found)
    pearson = _pearson(rows)
    phi = _dispersion(fit, rows, df)
    left = np.maximum(1 - found.leverage, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.full(len(fit.w), phi)
        if isinstance(fit.family, Normal):
            rest = df * phi - fit.w * pearson**2 / left
            without = np.maximum(rest, 0.0) / np.maximum(df - fit.w, 0.0)
        scaled = found.change @ _factor(found)
        cooks = (scaled**2).sum(1) / (found.root.shape[1] * phi)
        errors = np.sqrt((found.root**2).sum(1))
        dfbetas = found.change / (np.sqrt(without)[:, None] * errors)
        root = np.sqrt(fit.w)  # a row of weight 2 is left out with both of its copies
        internal = root * pearson / np.sqrt(phi * left)
        external = root * pearson / np.sqrt(without * left)
        dffits = external * np.sqrt(found.leverage / left)
        own = (fit.loss(fit.eta + found.eta_change) - fit.loss(fit.eta)) / phi
    normal = isinstance(fit.family, Normal)
    tail = stats.t(np.maximum(df - fit.w, 1e-9)) if normal else stats.norm
    p = 2 * tail.sf(np.abs(external))
    alone = np.isnan(found.eta_change).any(1)
    cooks, own = np.where(alone, np.inf, cooks), np.where(alone, np.inf, own)
    return Measures(cooks, dfbetas, dffits, internal, external, p, own, phi)


def _effective(rows: Linearised, found: Steps) -> float:
    """The degrees of freedom of the fit: the number of coefficients, or fewer."""
    return float(found.leverage.sum())


def _factor(found: Steps) -> np.ndarray:
    """F with F Fᵀ = H, so that ‖Δ F‖² = Δᵀ H Δ."""
    return np.linalg.pinv(found.root).T


def _pearson(rows: Linearised) -> np.ndarray:
    """−g Λ^(−1/2) for one entry of η; the root of gᵀΛ⁺g for several, without a sign."""
    if rows.gradient.shape[1] == 1:
        spread = np.sqrt(np.maximum(rows.hessian[:, 0, 0], np.finfo(float).tiny))
        return -rows.gradient[:, 0] / spread
    inverse = np.linalg.pinv(rows.hessian, hermitian=True, rcond=1e-10)
    square = np.einsum("nk,nkl,nl->n", rows.gradient, inverse, rows.gradient)
    return np.sqrt(np.maximum(square, 0.0))


def _dispersion(fit: LinearFit, rows: Linearised, df: float) -> float:
    """φ, by Pearson's residuals where the family has one."""
    if not isinstance(fit.family, Normal | Gamma | Tweedie):
        return 1.0
    square = float(fit.w @ _pearson(rows) ** 2)
    return max(square / df if df > 0 else np.nan, np.finfo(float).tiny)
