r"""Weighted second moments of (X, y) for many weight vectors, in NumPy.

Rows that have the same weight in every vector share one sum, so the k training sets of
k folds cost one pass over the data: each is a sum of groups. Sums are taken about a
shift close to the means (a median of some rows, which outliers do not move), so that
centring afterwards cancels little.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse

from likely.core.threads import one_thread, row_blocks, thread_count, thread_map

BLOCK_ROWS = 1024
"""Rows that are copied at once."""
MIN_BLOCKS = 16
"""Blocks from which several threads add them up: threads take a while to start."""
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
    X: Any,
    y: Float[np.ndarray, " n"],
    W: Float[np.ndarray, "m n"],
    *,
    centre: bool,
) -> list[SecondMoments]:
    """The moments for each of m weight vectors; rows of weight 0 must be finite.

    X may be a sparse matrix, whose moments are taken about 0 first.
    """
    if issparse(X):
        return [_sparse_moments(X, y, w, centre) for w in W]
    shift = np.zeros(X.shape[1] + 1)
    if centre:
        shift[:-1], shift[-1] = sample_medians(X), sample_medians(y[:, None])[0]
    with one_thread():  # blocks of rows have threads of their own
        sums = _sums(X, y, W, shift)
    return [_finish(M, w.sum(), shift, centre) for M, w in zip(sums, W, strict=True)]


def _sparse_moments(
    X: Any, y: np.ndarray, w: np.ndarray, centre: bool
) -> SecondMoments:
    total = w.sum()
    weighted = X.multiply(w[:, None] / total).tocsr()
    G = np.asarray((weighted.T @ X).todense())
    mean_x, mean_y = np.zeros(X.shape[1]), 0.0
    if centre:
        mean_x, mean_y = np.asarray(weighted.sum(0)).ravel(), float(w @ y / total)
    z = y - mean_y
    G -= np.outer(mean_x, mean_x)
    c = np.asarray(weighted.T @ z) - mean_x * float(w @ z / total)
    return SecondMoments(G, c, float(w @ z**2 / total), mean_x, mean_y)


def sample_medians(X: Any) -> Float[np.ndarray, " d"]:
    """Medians of some rows: close to the means, whatever the outliers; 0 of sparse ones."""
    if issparse(X):
        return np.zeros(X.shape[1])
    sample = np.linspace(0, len(X) - 1, min(MEDIAN_ROWS, len(X))).astype(int)
    return np.asarray(np.median(X[sample], axis=0), np.float64)


def _sums(X, y, W, shift) -> Iterable[np.ndarray]:
    """Σ w z zᵀ for each weight vector, z = (x, y, 1) less the shift."""
    groups = _equal_weights(W)
    if len(groups) * MIN_GROUP_ROWS > len(y) + MIN_GROUP_ROWS:
        return _grams(X, y, shift, [np.flatnonzero(w) for w in W], W)
    grams = np.stack(_grams(X, y, shift, groups))
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


def _grams(X, y, shift, groups: list[np.ndarray], W=None) -> list[np.ndarray]:
    """Σ w z zᵀ over the rows of each group, in blocks of bounded memory."""
    blocks = [
        (g, _as_slice(rows[start : start + BLOCK_ROWS]))
        for g, rows in enumerate(groups)
        for start in range(0, len(rows), BLOCK_ROWS)
    ]

    def add(own: slice) -> list[np.ndarray]:
        buffer, found = np.ones((BLOCK_ROWS, X.shape[1] + 2)), []
        for g, rows in blocks[own]:
            part = y[rows]
            Z = buffer[: len(part)]
            np.subtract(X[rows], shift[:-1], out=Z[:, :-2])
            np.subtract(part, shift[-1], out=Z[:, -2])
            if W is not None:
                root = np.sqrt(W[g, rows])
                Z[:, :-1] *= root[:, None]
                Z[:, -1] = root
            found.append(Z.T @ Z)  # NumPy sees the square and does half the work
        return found

    workers = thread_count(None) if len(blocks) >= MIN_BLOCKS else 1
    shares = [slice(*ends) for ends in row_blocks(len(blocks), workers)]
    parts = [part for share in thread_map(add, shares, workers) for part in share]
    sums = [np.zeros((X.shape[1] + 2,) * 2) for _ in groups]
    for (g, _), part in zip(blocks, parts, strict=True):
        sums[g] += part
    return sums


def _as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """Consecutive rows as a slice, which needs no copy."""
    if rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _finish(M, total: float, shift, centre: bool) -> SecondMoments:
    """Means, and the moments about them."""
    means = M[:-1, -1] / total if centre else np.zeros(len(M) - 1)
    M = M[:-1, :-1] / total
    M -= np.outer(means, means)
    means = means + shift
    yy = max(float(M[-1, -1]), 0.0)
    G = np.ascontiguousarray(M[:-1, :-1])
    return SecondMoments(G, M[:-1, -1].copy(), yy, means[:-1], float(means[-1]))
