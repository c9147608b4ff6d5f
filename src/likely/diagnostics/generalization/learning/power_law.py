r"""A power law of the loss, $L(n) = a + b\,n^{-c}$, fitted to a learning curve.

The points of a learning curve share held-out rows, so that their errors are strongly correlated:
the level is known much less well than the shape. The law therefore minimises the squared error in
units of the whole covariance matrix Σ, $(y - L)^\top Σ^{-1} (y - L)$, which is about χ² with
s − 3 degrees of freedom if the law holds. For a given c it is linear in a and b, so that c is
tried on a grid and the others have a formula; $b \ge 0$, and a is at least the least possible
loss.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

EXPONENTS = np.geomspace(0.05, 2.0, 80)
MIN_SHARE = 1e-4
"""What is added to variances, as a share of them: a covariance matrix has an inverse."""


class PowerLaw(NamedTuple):
    """The numbers of a power law; arrays where there are several."""

    a: Float[np.ndarray, "*m"]
    """The loss with infinitely many rows."""
    b: Float[np.ndarray, "*m"]
    c: Float[np.ndarray, "*m"]

    def __call__(self, n: Float[np.ndarray, " s"]) -> Float[np.ndarray, "*m s"]:
        """The loss with n rows."""
        a, b, c = (np.asarray(part)[..., None] for part in self)
        return a + b * np.asarray(n, float) ** -c


def fit_power_law(
    n: Float[np.ndarray, " s"],
    curves: Float[np.ndarray, "m s"],
    covariance: Float[np.ndarray, "s s"],
    *,
    lowest: float,
) -> tuple[PowerLaw, Float[np.ndarray, " m"]]:
    """The power laws with the least squared error, one for each curve, and these errors.

    Args:
        n: rows.
        curves: losses at these numbers of rows.
        covariance: of the points of a curve.
        lowest: the least possible loss, −∞ if there is none.
    """
    scale = float(np.max(n))
    variances = np.diagonal(covariance)
    size = np.abs(curves).max() or 1.0
    ridge = MIN_SHARE * variances + 1e-24 * size**2
    root = np.linalg.cholesky(covariance + np.diag(ridge))
    y = np.linalg.solve(root, curves.T).T  # (m, s), with unit covariance
    u = np.linalg.solve(root, np.ones(len(n)))
    v = np.linalg.solve(root, (n[:, None] / scale) ** -EXPONENTS).T  # (g, s)
    uu, uv, vv = u @ u, v @ u, (v**2).sum(1)
    yu, yv = (y @ u)[:, None], y @ v.T
    b = (uu * yv - uv * yu) / (uu * vv - uv**2)  # (m, g)
    a = (yu - b * uv) / uu
    flat = b < 0
    a, b = np.where(flat, yu / uu, a), np.where(flat, 0.0, b)
    below = a < lowest
    if below.any():
        floor = np.where(below, lowest, 0.0)
        alone = np.maximum((yv - floor * uv) / vv, 0.0)
        a, b = np.where(below, lowest, a), np.where(below, alone, b)
    left = y[:, None] - a[..., None] * u - b[..., None] * v
    squares = (left**2).sum(2)
    best = squares.argmin(1)
    rows = np.arange(len(curves))
    c = EXPONENTS[best]
    law = PowerLaw(a[rows, best], b[rows, best] * scale**c, c)
    return law, squares[rows, best]
