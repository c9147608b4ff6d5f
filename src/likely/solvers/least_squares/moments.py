r"""Weighted second moments of (X, y) for many weight vectors, in NumPy.

Rows that have the same weight in every vector share one sum, so the k training sets of
k folds cost one pass over the data: each is a sum of groups. Sums are taken about a
shift close to the means (a median of some rows, which outliers do not move), so that
centring afterwards cancels little.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

BLOCK_ROWS = 8192
"""Rows that are copied at once."""
MEDIAN_ROWS = 129
"""Rows whose medians are the shift."""
MIN_GROUP_ROWS = 32
"""Rows in a group, on average, from which sums by groups are faster."""


class SecondMoments(NamedTuple):
    """XᵀWX, XᵀWy and yᵀWy over Σw (about the means, if centred), and the means."""

    G: Float[np.ndarray, "d d"]
    c: Float[np.ndarray, " d"]
    yy: float
    mean_x: Float[np.ndarray, " d"]
    mean_y: float


def second_moments(
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    W: Float[np.ndarray, "m n"],
    *,
    centre: bool,
) -> list[SecondMoments]:
    """The moments for each of m weight vectors; rows of weight 0 must be finite."""
    shift = np.zeros(X.shape[1] + 1)
    if centre:
        shift[:-1], shift[-1] = sample_medians(X), sample_medians(y[:, None])[0]
    sums = _sums(X, y, W, shift)
    return [_finish(M, w.sum(), shift, centre) for M, w in zip(sums, W, strict=True)]


def sample_medians(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """Medians of some rows: close to the means, whatever the outliers."""
    sample = np.linspace(0, len(X) - 1, min(MEDIAN_ROWS, len(X))).astype(int)
    return np.asarray(np.median(X[sample], axis=0), np.float64)


def _sums(X, y, W, shift) -> Iterable[np.ndarray]:
    """Σ w z zᵀ for each weight vector, z = (x, y, 1) less the shift."""
    groups = _equal_weights(W)
    if len(groups) * MIN_GROUP_ROWS > len(y) + MIN_GROUP_ROWS:
        present = [np.flatnonzero(w) for w in W]
        return [_gram(X, y, shift, r, w[r]) for r, w in zip(present, W, strict=True)]
    grams = np.stack([_gram(X, y, shift, rows) for rows in groups])
    counts = np.stack([W[:, rows[0]] for rows in groups], axis=1)
    return np.tensordot(counts, grams, axes=1)


def _equal_weights(W) -> list[np.ndarray]:
    """Groups of rows that have the same weight in every vector."""
    code = np.zeros(W.shape[1], np.int64)
    for w in W:
        _, level = np.unique(w, return_inverse=True)
        _, code = np.unique(code * (level.max() + 1) + level, return_inverse=True)
    order = np.argsort(code, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code[order])) + 1)


def _gram(X, y, shift, rows, w=None) -> np.ndarray:
    """Σ w z zᵀ over these rows, in blocks of bounded memory."""
    if len(rows) == rows[-1] - rows[0] + 1:  # consecutive rows need no copy
        rows = slice(rows[0], rows[-1] + 1)
    X, y = X[rows], y[rows]
    n, d = X.shape
    total, buffer = np.zeros((d + 2, d + 2)), np.empty((min(BLOCK_ROWS, n), d + 2))
    for start in range(0, n, BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        Z = buffer[: len(y[part])]
        np.subtract(X[part], shift[:-1], out=Z[:, :-2])
        np.subtract(y[part], shift[-1], out=Z[:, -2])
        Z[:, -1] = 1.0
        if w is not None:
            Z *= np.sqrt(w[part])[:, None]
        total += Z.T @ Z  # NumPy sees the square and does half the work
    return total


def _finish(M, total: float, shift, centre: bool) -> SecondMoments:
    """Means, and the moments about them."""
    means = M[:-1, -1] / total if centre else np.zeros(len(M) - 1)
    M = M[:-1, :-1] / total
    M -= np.outer(means, means)
    means = means + shift
    yy = max(float(M[-1, -1]), 0.0)
    G = np.ascontiguousarray(M[:-1, :-1])
    return SecondMoments(G, M[:-1, -1].copy(), yy, means[:-1], float(means[-1]))
