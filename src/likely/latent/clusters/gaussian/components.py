r"""The components of normal mixtures, of several starts at once, and their best values.

Given the responsibilities of components for rows, the likelihood is largest at the weighted
means and covariances; where components share a covariance (`tied`) or have a special form
(`diag`, `spherical`) at the corresponding means of these. No variance in any direction may be
smaller than a floor: of all such covariances the likelihood is then largest at the one whose
eigenvalues are raised to the floor, so that it still rises in each step.
"""

from typing import NamedTuple

import numpy as np

KINDS = ("full", "tied", "diag", "spherical")
LEAST_WEIGHT = 1e-300


class Components(NamedTuple):
    """r starts of k components each; covariances of "diag" and "spherical" are diagonals.

    Attributes:
        weights: (r, k) they sum to 1.
        means: (r, k, d)
        covariances: (r, k, d, d) or (r, k, d).
        raised: (r, k) whether a variance was raised to the floor.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    raised: np.ndarray

    def take(self, starts: np.ndarray) -> "Components":
        """The components of some starts."""
        return Components(*(a[starts] for a in self))

    def put(self, starts: np.ndarray, other: "Components") -> None:
        """Replace the components of some starts."""
        for own, new in zip(self, other, strict=True):
            own[starts] = new


class Moments(NamedTuple):
    """What rows say about each component.

    Attributes:
        log_prob: (r,) Σ w log p(x) of each start.
        weights: (r, k) Σ w q, the weight of the rows of each component.
        means: (r, k, d) their mean.
        covariances: (r, k, d, d) or (r, k, d) their covariance.
    """

    log_prob: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


def maximize(moments: Moments, kind: str, floor: float) -> Components:
    """The components of largest likelihood for these moments.

    Args:
        moments: of rows, by responsibilities.
        kind: "full", "tied", "diag" or "spherical".
        floor: the smallest variance in any direction.
    """
    _, N, means, S = moments
    if kind in ("diag", "spherical") and S.ndim == 4:
        S = np.diagonal(S, axis1=-2, axis2=-1)
    if kind == "spherical":
        S = np.broadcast_to(S.mean(-1, keepdims=True), S.shape)
    if kind == "tied":
        shares = N / N.sum(1, keepdims=True)
        S = np.einsum("rk,rkij->rij", shares, S)[:, None]
    if S.ndim == 3:
        raised, S = np.any(floor > S, axis=-1), np.maximum(S, floor)
    else:
        S, raised = raise_to_floor(S, floor)
    if kind == "tied":
        S = np.repeat(S, N.shape[1], axis=1)
        raised = np.repeat(np.asarray(raised), N.shape[1], axis=1)
    weights = np.maximum(N, LEAST_WEIGHT)
    return Components(weights / weights.sum(1, keepdims=True), means, S, raised)


def raise_to_floor(S: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Covariances without an eigenvalue below the floor, and which of them had one."""
    S = 0.5 * (S + np.swapaxes(S, -1, -2))
    try:
        np.linalg.cholesky(S - floor * np.eye(S.shape[-1]))
    except np.linalg.LinAlgError:
        values, U = np.linalg.eigh(S)
        raised = values[..., 0] < floor
        values = np.maximum(values, floor)
        S = np.where(
            raised[..., None, None],
            (U * values[..., None, :]) @ np.swapaxes(U, -1, -2),
            S,
        )
        return S, raised
    return S, np.zeros(S.shape[:-2], bool)


def parameter_count(kind: str, k: int, d: int) -> int:
    """The number of free parameters of k components of d columns."""
    spread = {
        "full": k * d * (d + 1) // 2,
        "tied": d * (d + 1) // 2,
        "diag": k * d,
        "spherical": k,
    }[kind]
    return spread + k * d + k - 1
