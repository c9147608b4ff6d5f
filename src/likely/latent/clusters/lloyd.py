r"""Lloyd's algorithm from several starts at once: rows to the nearest centre, centres to the mean.

$$\min_{c_1, \dots, c_k} \sum_i w_i \min_j \lVert x_i - c_j \rVert^2$$

falls with either step, so it ends, in a local minimum. All starts run in single precision, where
twice as many numbers are compared at once; the best goes on in double precision to its end. Where
single precision cannot tell rows apart, all starts run in double precision.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likely.core.threads import row_blocks, thread_count, thread_map
from likely.latent.clusters.kernels.kmeans import TILE, UNROLLED, assign, seed_rows

MAX_SHARE_OF_ROUNDING = 1e-3
"""Largest rounding error of a squared distance, as a share of the mean squared distance."""
PART_TILES = 32
"""Tiles whose sums are added up in one part."""


class Tiles(NamedTuple):
    """Rows near 0 of spread about 1, in tiles and one by one, of one precision."""

    tiles: np.ndarray
    X: np.ndarray
    w: np.ndarray

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The tiles of each part."""
        count = len(self.tiles)
        return row_blocks(count, -(-count // PART_TILES))


class Clustering(NamedTuple):
    """Centres, the sum of squared distances to them, and how they were found."""

    centres: np.ndarray
    inertia: float
    n_iter: int
    converged: bool


def tiled(X: np.ndarray, w: np.ndarray, dtype: Any) -> Tiles:
    """Rows as the kernels take them; columns are padded by zeros."""
    n, d = X.shape
    count, columns = -(-n // TILE), -(-d // UNROLLED) * UNROLLED
    rows = np.zeros((count * TILE, columns), dtype)
    rows[:n, :d] = X
    tiles = np.ascontiguousarray(rows.reshape(count, TILE, columns).swapaxes(1, 2))
    return Tiles(tiles, rows[:n], np.ascontiguousarray(w, np.float64))


def seeds(rows: Tiles, k: int, uniform: np.ndarray) -> np.ndarray:
    """(k, d) rows chosen by k-means++, from (k, m) random numbers."""
    chosen = np.empty(k, np.int64)
    seed_rows(*rows, uniform, chosen)
    return rows.X[chosen].astype(np.float64)


def lloyd(
    rows: Tiles, centres: np.ndarray, tol: float, max_iter: int, workers: int = 1
) -> Clustering:
    """Lloyd's algorithm from one start.

    Args:
        rows: what to divide into clusters.
        centres: (k, d) the start, of as many columns as the tiles have.
        tol: the largest sum of squared moves of the centres at which it ends.
        max_iter: the largest number of steps.
        workers: the number of threads.
    """
    k, C = len(centres), centres
    labels = np.full(len(rows.w), -1, np.int32)
    sums, weights, counts = np.zeros_like(C), np.zeros(k), np.zeros(k, np.int64)
    n_iter, done = 0, False
    while n_iter < max_iter and not done:
        n_iter += 1
        job = partial(_assign_part, rows, C, labels)
        found = thread_map(job, rows.parts, workers)
        for _, *changes in found:
            for total, change in zip((sums, weights, counts), changes, strict=True):
                total += change
        if not any(changed for changed, *_ in found):
            done = True
            break
        moved = _means(rows, C, labels, sums, weights, counts)
        shift, C = ((moved - C) ** 2).sum(), moved
        done = bool(shift <= tol)
    return Clustering(C, _inertia(rows, C, labels), n_iter, done)


def best_of_starts(
    X: np.ndarray, w: np.ndarray, uniform: np.ndarray, tol: float, max_iter: int
) -> Clustering:
    """The best clustering of several starts by k-means++.

    Args:
        X: (n, d) rows of mean 0 and mean square 1.
        w: (n,) their weights.
        uniform: (r, k, m) random numbers of r starts.
        tol: as in `lloyd`.
        max_iter: as in `lloyd`.
    """
    found = all_starts(tiled(X, w, np.float32), uniform, tol, max_iter)
    best = min(found, key=lambda c: c.inertia)
    rows, workers = tiled(X, w, np.float64), thread_count(None)
    largest = (X**2).sum(1).max(initial=0.0) * np.finfo(np.float32).eps
    if largest * w.sum() > MAX_SHARE_OF_ROUNDING * best.inertia:
        found = all_starts(rows, uniform, tol, max_iter)
        best = min(found, key=lambda c: c.inertia)
    last = lloyd(rows, best.centres, tol, max(1, max_iter - best.n_iter), workers)
    n_iter = best.n_iter + last.n_iter - 1
    centres = last.centres[:, : X.shape[1]]
    return last._replace(centres=centres, n_iter=min(n_iter, max_iter))


def all_starts(
    rows: Tiles, uniform: np.ndarray, tol: float, max_iter: int
) -> list[Clustering]:
    """A clustering from each start, side by side on the processors."""
    threads = thread_count(None)
    inside = threads if len(uniform) == 1 else 1

    def job(numbers: np.ndarray) -> Clustering:
        start = seeds(rows, len(numbers), numbers)
        return lloyd(rows, start, tol, max_iter, inside)

    return thread_map(job, uniform, threads)


def nearest(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n,) the number of the nearest centre of each row, in double precision."""
    rows, k = tiled(X, np.ones(len(X)), np.float64), len(centres)
    C = np.zeros((k, rows.X.shape[1]))
    C[:, : X.shape[1]] = centres
    labels = np.full(len(X), -1, np.int32)
    thread_map(partial(_assign_part, rows, C, labels), rows.parts, thread_count(None))
    return labels


def _assign_part(rows: Tiles, C: np.ndarray, labels: np.ndarray, part) -> tuple:
    """How many rows of a part changed, and the changes of the sums of centres."""
    k, dtype = len(C), rows.tiles.dtype
    changes = np.zeros_like(C), np.zeros(k), np.zeros(k, np.int64)
    own = C.astype(dtype)
    half = 0.5 * (own.astype(np.float64) ** 2).sum(1)
    run: Any = assign
    changed = run(*rows, own, half.astype(dtype), *part, labels, *changes)
    return changed, *changes


def _means(rows: Tiles, C, labels, sums, weights, counts) -> np.ndarray:  # noqa: PLR0917
    """(k, d) the means of the rows of each centre; one without rows gets the farthest."""
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return sums / weights[:, None]
    sums[empty], weights[empty] = 0.0, 0.0
    moved = sums / np.where(counts > 0, weights, 1.0)[:, None]
    distances = ((rows.X - C[labels]) ** 2).sum(1)
    farthest = np.argsort(-distances, kind="stable")[: len(empty)]
    moved[empty] = rows.X[farthest]
    return moved


def _inertia(rows: Tiles, C: np.ndarray, labels: np.ndarray) -> float:
    """The sum of squared distances of rows to their centres, in double precision."""
    total = 0.0
    for start, stop in rows.parts:
        here = slice(start * TILE, stop * TILE)
        gaps = rows.X[here] - C[labels[here]]
        total += float(rows.w[here] @ np.einsum("nd,nd->n", gaps, gaps))
    return total
