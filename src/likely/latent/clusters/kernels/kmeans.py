r"""The loops of k-means, compiled by numba: k-means++ and the nearest centre of each row.

Rows stand in tiles of `TILE` rows, column by column, so that the same operation is done for
all rows of a tile at once. What is found for a row depends on its values alone, not on where
it stands, and nothing depends on the number of threads.
"""

from typing import Any, no_type_check

import numpy as np
from numba import float32, float64, int32, int64, njit, types, void

from likely.core.compiled import OPTIONS, const, kernel

TILE = 128
"""Rows of a tile."""
UNROLLED = 4
"""Columns that are read at once; the number of columns is padded to a multiple."""
FAST: dict[str, Any] = {"fastmath": {"contract", "nsz"}}
fast = njit(**OPTIONS, **FAST)
PRECISIONS = (float32, float64)


@fast
@no_type_check
def squared_distances(tile, centre, found):
    """Store the squared distance of each row of a tile to a centre."""
    for b in range(TILE):
        found[b] = 0
    for j in range(0, len(tile), 4):
        c0, c1, c2, c3 = centre[j], centre[j + 1], centre[j + 2], centre[j + 3]
        for b in range(TILE):
            d0, d1 = tile[j, b] - c0, tile[j + 1, b] - c1
            d2, d3 = tile[j + 2, b] - c2, tile[j + 3, b] - c3
            found[b] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)


@fast
@no_type_check
def nearest_of_tile(tile, C, half, found, best, own):  # noqa: PLR0917
    """Store which centre is nearest to each row of a tile, by ½|c|² − x·c."""
    for c in range(len(C)):
        centre, h = C[c], half[c]
        for b in range(TILE):
            found[b] = h
        for j in range(0, len(tile), 4):
            c0, c1, c2, c3 = centre[j], centre[j + 1], centre[j + 2], centre[j + 3]
            for b in range(TILE):
                found[b] -= (tile[j, b] * c0 + tile[j + 1, b] * c1) + (
                    tile[j + 2, b] * c2 + tile[j + 3, b] * c3
                )
        if c == 0:
            for b in range(TILE):
                best[b] = found[b]
                own[b] = 0
        else:
            for b in range(TILE):
                less = found[b] < best[b]
                best[b] = found[b] if less else best[b]
                own[b] = c if less else own[b]


@kernel(
    [
        types.int64(
            const(t, 3), const(t, 2), const(float64, 1), const(t, 2), const(t, 1),
            int64, int64, int32[::1], float64[:, ::1], float64[::1], int64[::1],
        )
        for t in PRECISIONS
    ],
    **FAST,
)  # fmt: skip
@no_type_check
def assign(  # noqa: PLR0917
    tiles, X, w, C, half, start, stop, labels, sums, weights, counts
):
    """Give the rows of some tiles to their nearest centres; how many changed.

    Args:
        tiles: (t, d, TILE) rows.
        X: (n, d) the same rows, n at most t·TILE.
        w: (n,) their weights.
        C: (k, d) centres.
        half: (k,) ½|c|².
        start: the first tile.
        stop: the end of the tiles.
        labels: (n,) the centre of each row, -1 where it has none; is changed.
        sums: (k, d) the change of Σ w x of each centre is added.
        weights: (k,) the change of Σ w is added.
        counts: (k,) the change of the number of rows is added.
    """
    found, best = np.empty(TILE, tiles.dtype), np.empty(TILE, tiles.dtype)
    own, changed = np.empty(TILE, np.int32), 0
    for t in range(start, stop):
        nearest_of_tile(tiles[t], C, half, found, best, own)
        for b in range(min(TILE, len(w) - t * TILE)):
            i = t * TILE + b
            old, new = labels[i], own[b]
            if old == new:
                continue
            changed += 1
            labels[i] = new
            x, weight = X[i], w[i]
            weights[new] += weight
            counts[new] += 1
            for j in range(len(x)):
                sums[new, j] += weight * x[j]
            if old >= 0:
                weights[old] -= weight
                counts[old] -= 1
                for j in range(len(x)):
                    sums[old, j] -= weight * x[j]
    return changed


@fast
@no_type_check
def drawn_row(cumulative, u):
    """The first row whose cumulative mass is above a share u of all mass."""
    wanted = u * cumulative[-1]
    i = np.searchsorted(cumulative, wanted, side="right")
    return min(i, len(cumulative) - 1)


@kernel(
    [
        void(
            const(t, 3), const(t, 2), const(float64, 1), const(float64, 2), int64[::1],
        )
        for t in PRECISIONS
    ],
    **FAST,
)  # fmt: skip
@no_type_check
def seed_rows(tiles, X, w, uniform, chosen):
    """Choose rows by greedy k-means++: the best of several draws by squared distance.

    Args:
        tiles: (t, d, TILE) rows.
        X: (n, d) the same rows.
        w: (n,) their weights.
        uniform: (k, m) numbers from 0 to 1, m draws for each centre.
        chosen: (k,) the rows that are chosen are stored.
    """
    n, (k, draws) = len(w), uniform.shape
    near, trial = np.full(n, np.inf), np.empty(n)
    found, best = np.empty(TILE, tiles.dtype), np.empty(n)
    cumulative = np.cumsum(w)
    for c in range(k):
        least = np.inf
        for m in range(1 if c == 0 else draws):
            row, total = drawn_row(cumulative, uniform[c, m]), 0.0
            for t in range(len(tiles)):
                squared_distances(tiles[t], X[row], found)
                for b in range(min(TILE, n - t * TILE)):
                    i = t * TILE + b
                    trial[i] = min(near[i], np.float64(found[b]))
                    total += w[i] * trial[i]
            if total < least:
                least, chosen[c] = total, row
                best, trial = trial, best
        near, best = best, near
        total = 0.0
        for i in range(n):
            total += w[i] * near[i]
            cumulative[i] = total
