r"""K-means by small batches: each centre is the mean of all rows that it was given so far.

A batch is drawn with probabilities in proportion to the weights. Its rows go to their nearest
centres, and a centre with $N$ rows so far and the sum $s$ over $m$ new ones moves to
$(N c + s) / (N + m)$. A step costs the same however many rows there are.
"""

import numpy as np

from likely.latent.clusters.kernels.kmeans import assign
from likely.latent.clusters.lloyd import Clustering, seeds, tiled

SEED_BATCHES = 3
"""Batches of rows from which the first centres are chosen."""


def minibatch(
    X: np.ndarray,
    w: np.ndarray,
    uniform: np.ndarray,
    *,
    batch_size: int,
    steps: int,
    rng: np.random.Generator,
) -> Clustering:
    """The best clustering of several starts, by small batches.

    Args:
        X: (n, d) rows of mean 0 and mean square 1.
        w: (n,) their weights.
        uniform: (r, k, m) random numbers of r starts.
        batch_size: rows of a batch.
        steps: batches of each start.
        rng: draws the batches.
    """
    cumulative = np.cumsum(w)

    def drawn(size: int) -> np.ndarray:
        places = rng.random(size) * cumulative[-1]
        rows = np.searchsorted(cumulative, places, side="right")
        return X[np.minimum(rows, len(X) - 1)]

    judged = drawn(SEED_BATCHES * batch_size)
    found = [_start(judged, numbers, steps, batch_size, drawn) for numbers in uniform]
    return min(found, key=lambda c: c.inertia)


def _start(judged, numbers, steps, batch_size, drawn) -> Clustering:
    """One start: its centres, and their sum of squared distances over some rows."""
    rows, k = tiled(judged, np.ones(len(judged)), np.float64), len(numbers)
    C, weights = seeds(rows, k, numbers), np.zeros(k)
    for _ in range(steps):
        batch = tiled(drawn(batch_size), np.ones(batch_size), np.float64)
        sums, new, counts = np.zeros_like(C), np.zeros(k), np.zeros(k, np.int64)
        labels, half = np.full(batch_size, -1, np.int32), 0.5 * (C**2).sum(1)
        assign(*batch, C, half, 0, len(batch.tiles), labels, sums, new, counts)
        total = np.maximum(weights + new, 1e-300)[:, None]
        C = np.where(new[:, None] > 0, (weights[:, None] * C + sums) / total, C)
        weights += new
    gaps = rows.X[:, None] - C[None]
    inertia = np.einsum("nkd,nkd->nk", gaps, gaps).min(1).sum()
    return Clustering(C[:, : judged.shape[1]], float(inertia), steps, True)
