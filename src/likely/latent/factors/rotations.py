r"""Rotations of loadings towards columns with few large entries.

Factors are known up to a rotation: $W W^\top = (WT)(WT)^\top$ for any orthogonal T. Orthomax
rotations maximise

$$\sum_j \Bigl[ \sum_i l_{ij}^4 - \tfrac{γ}{d} \bigl(\textstyle\sum_i l_{ij}^2\bigr)^2 \Bigr],
  \qquad L = WT,$$

with γ = 1 for varimax and γ = 0 for quartimax. Promax lets factors correlate: it fits a T that
is not orthogonal to the varimax loadings raised to a power.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import polar

GAMMAS = {"varimax": 1.0, "quartimax": 0.0}
ROTATIONS = (*GAMMAS, "promax")


def rotation_of(
    W: Float[np.ndarray, "d k"], rotation: str | None
) -> Float[np.ndarray, "k k"]:
    """T of a rotation by name, such that the new loadings are W T.

    The columns of T of an oblique rotation are such that factors have variance 1.

    Args:
        W: loadings.
        rotation: "varimax", "quartimax", "promax", or None for none.
    """
    if rotation is None or W.shape[1] < 2:
        return np.eye(W.shape[1])
    T = orthomax(W, GAMMAS.get(rotation, 1.0))
    return promax(W, T) if rotation == "promax" else T


def orthomax(
    W: Float[np.ndarray, "d k"],
    gamma: float,
    *,
    max_iter: int = 1000,
    tol: float = 1e-12,
) -> Float[np.ndarray, "k k"]:
    """The orthogonal T that maximises the criterion of the module, by polar steps."""
    d, k = W.shape
    T, before = np.eye(k), -np.inf
    for _ in range(max_iter):
        L = W @ T
        gradient = W.T @ (L**3 - gamma / d * L * (L**2).sum(0))
        value = float((L**4).sum() - gamma / d * ((L**2).sum(0) ** 2).sum())
        if value - before <= tol * abs(value):
            break
        before = value
        T = polar(gradient)[0]
    return T


def promax(
    W: Float[np.ndarray, "d k"], T: Float[np.ndarray, "k k"], power: float = 4.0
) -> Float[np.ndarray, "k k"]:
    """The oblique T that brings loadings near their own powers, from the varimax T."""
    L = W @ T
    target = L * np.abs(L) ** (power - 1)
    Q = np.linalg.lstsq(L, target, rcond=None)[0]
    # factors T⁻¹z have the covariance (QᵀQ)⁻¹, brought to variance 1
    Q = Q * np.sqrt(np.diag(np.linalg.pinv(Q.T @ Q)))
    return T @ Q
