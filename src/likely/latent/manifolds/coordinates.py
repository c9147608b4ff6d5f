r"""Principal coordinates: places whose distances are given.

With squared dissimilarities S, weights w and $J = I - 1 w^\top / \sum w$, the products of centred
places are $B = -\tfrac12 J S J^\top$. Its eigenvectors, weighted, are the places:
$Y Y^\top \approx B$, $Y^\top W Y = Λ$. A new row with squared dissimilarities s from the
others lies at $Λ^{-1} Y^\top W b$ with $b = -\tfrac12 J (s - S w / \sum w)$.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from likely.core.threads import one_thread

MIN_EIGENVALUE = 1e-12
"""Smaller ones, as a part of the largest, are taken for zero."""


class Coordinates(NamedTuple):
    """Places, and what it takes to place new rows among them."""

    places: Float[np.ndarray, "n q"]
    eigenvalues: Float[np.ndarray, " q"]
    """Λ, the weighted sums of squares of the columns, the largest first."""
    means: Float[np.ndarray, " n"]
    """The weighted mean of the squared dissimilarities of each row."""
    w: Float[np.ndarray, " n"]
    total: float
    """The sum of all squared eigenvalues, of which Λ² are a part."""

    def place(self, s: Float[np.ndarray, "m n"]) -> Float[np.ndarray, "m q"]:
        """The places of new rows with squared dissimilarities s from the others."""
        B = s - self.means
        B = -0.5 * (B - (B @ self.w / self.w.sum())[:, None])
        safe = np.where(self.eigenvalues > 0, self.eigenvalues, 1.0)
        return B @ (self.w[:, None] * self.places / safe)


def principal_coordinates(
    S: Float[np.ndarray, "n n"], q: int, w: Float[np.ndarray, " n"]
) -> Coordinates:
    """The places in q dimensions whose products are nearest to those of S.

    Columns beyond the dimensions that S has are zero.

    Args:
        S: symmetric squared dissimilarities.
        q: how many dimensions.
        w: positive weights of the rows.
    """
    n, shares = len(S), w / w.sum()
    means = S @ shares
    B = -0.5 * (S - means - means[:, None] + shares @ means)
    root = np.sqrt(w)
    B = root * B * root[:, None]
    k = min(q, n)
    with one_thread():
        values, U = eigh(B, subset_by_index=(n - k, n - 1), driver="evr")
    values, U = values[::-1], U[:, ::-1]
    kept = np.where(values > MIN_EIGENVALUE * max(values[0], 0.0), values, 0.0)
    Y = signed(U * np.sqrt(kept) / root[:, None])
    more = q - k
    return Coordinates(
        np.pad(Y, ((0, 0), (0, more))), np.pad(kept, (0, more)), means, w,
        float((B**2).sum()),
    )  # fmt: skip


def signed(Y: np.ndarray) -> np.ndarray:
    """Columns whose largest coordinate is positive: eigenvectors have no sign."""
    signs = np.sign(Y[np.abs(Y).argmax(axis=0), np.arange(Y.shape[1])])
    return Y * np.where(signs == 0, 1.0, signs)
