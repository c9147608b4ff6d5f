"""From changes of the parameters to changes of losses, to second order."""

import numpy as np

from likely.diagnostics.influence.linearised import Linearised


def own_change(rows: Linearised, eta_change: np.ndarray) -> np.ndarray:
    """g·δ + ½ δᵀΛδ: the loss of each row at its new η, to second order."""
    half = 0.5 * np.einsum("nk,nkl,nl->n", eta_change, rows.hessian, eta_change)
    return (rows.gradient * eta_change).sum(1) + half


def effect_on(
    change: np.ndarray, other: Linearised, dispersion: float
) -> tuple[np.ndarray, np.ndarray]:
    """The change of the mean loss of other rows, to second order, and its error.

    With Δ = θ − θ₍₋ᵢ₎, the mean score s̄ of the other rows, its covariance C over m rows and
    their mean curvature H̄: −s̄·Δ + ½ ΔᵀH̄Δ, with the error √(ΔᵀCΔ/m).
    """
    m, share = len(other.w), other.w / other.w.sum()
    scores = np.einsum("nk,nkq->nq", other.gradient, other.J) / dispersion
    mean = share @ scores
    centred = np.sqrt(share)[:, None] * (scores - mean)
    bent = np.einsum(
        "n,nkq,nkl,nlr->qr", share, other.J, other.hessian, other.J, optimize=True
    )
    second = 0.5 * ((change @ bent) * change).sum(1) / dispersion
    error = np.sqrt(((change @ centred.T) ** 2).sum(1) / max(m - 1, 1))
    return -change @ mean + second, error
