r"""Which columns depend on each other, by tests of all pairs.

Columns are cut into bins of about equal weight, and every pair is tested twice: by
$G = 2 n I$ of the table of counts, which is χ² under independence, and by the rank
correlation, where both columns have an order. Bins miss weak but steady trends,
ranks miss what is not monotone. Pairs that miss a value are left out pair by pair.
"""

import numpy as np
from scipy.special import chdtrc, ndtr, xlogy

from likely.preprocess.codec.column_code import ColumnCode

MAX_BINS = 6
MIN_CELL_ROWS = 5.0
"""Rows in a cell of a table, on average, for which columns are cut."""
MIN_RANK_VARIANCE = 1e-12
"""The variance of ranks below which a column is constant up to rounding."""


def dependent_pairs(
    V: np.ndarray, w: np.ndarray, codes: tuple[ColumnCode, ...], alpha: float | int
) -> np.ndarray:
    """(q, q) whether independence of each pair is rejected at level α.

    Args:
        V: (n, q) values, NaN where missing.
        w: (n,) weights.
        codes: of the columns.
        alpha: the level, for all pairs together (Holm's first step).
    """
    p = pair_p_values(V, w, codes)
    pairs = max(1, len(p) * (len(p) - 1) // 2)
    near = (p < alpha / pairs) & ~np.eye(len(p), dtype=bool)
    return near | near.T  # rounding is not symmetric


def pair_p_values(
    V: np.ndarray, w: np.ndarray, codes: tuple[ColumnCode, ...]
) -> np.ndarray:
    """(q, q) the smaller of both p-values of each pair, doubled."""
    by_table = _table_p_values(V, w, codes)
    by_rank = _rank_p_values(V, w, codes)
    return np.minimum(1.0, 2 * np.fmin(by_table, by_rank))


def components(near: np.ndarray) -> list[np.ndarray]:
    """The groups of columns that are connected, each sorted."""
    left, found = set(range(len(near))), []
    while left:
        waiting, group = [min(left)], set()
        while waiting:
            i = waiting.pop()
            if i not in group:
                group.add(i)
                waiting += np.flatnonzero(near[i]).tolist()
        left -= group
        found.append(np.array(sorted(group)))
    return found


def _table_p_values(
    V: np.ndarray, w: np.ndarray, codes: tuple[ColumnCode, ...]
) -> np.ndarray:
    total = float(w.sum())
    bins = int(np.clip(np.sqrt(total / MIN_CELL_ROWS), 2, MAX_BINS))
    binned = [_binned(x, w, code, bins) for x, code in zip(V.T, codes, strict=True)]
    sizes = [int(b.max(initial=0)) + 1 for b in binned]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    hot = np.zeros((len(V), starts[-1]))
    for j, b in enumerate(binned):
        here = np.flatnonzero(b >= 0)
        hot[here, starts[j] + b[here]] = 1.0
    tables = (hot * w[:, None]).T @ hot
    q = len(codes)
    found = np.ones((q, q))
    for i in range(q):
        for j in range(i):
            N = tables[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
            found[i, j] = found[j, i] = _g_test(N)
    return found


def _g_test(N: np.ndarray) -> float:
    """The p-value of independence in a table of counts."""
    N = N[N.sum(1) > 0][:, N.sum(0) > 0]
    freedom = (N.shape[0] - 1) * (N.shape[1] - 1)
    if freedom < 1:
        return 1.0
    rows, columns, total = N.sum(1), N.sum(0), N.sum()
    terms = xlogy(N, N).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum()
    return float(chdtrc(freedom, max(0.0, 2 * (terms + total * np.log(total)))))


def _binned(x: np.ndarray, w: np.ndarray, code: ColumnCode, bins: int) -> np.ndarray:
    """(n,) the bin of each value, −1 where it is missing."""
    here = ~np.isnan(x)
    found = np.full(len(x), -1)
    if code.kind == "category":
        found[here] = _few_levels(x[here].astype(np.int64), w[here], 2 * bins)
        return found
    own, weight = x[here], w[here]
    if not len(own):
        return found
    order = np.argsort(own, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    edges = np.unique(own[order[np.searchsorted(share, np.arange(1, bins) / bins)]])
    found[here] = np.searchsorted(edges, own, side="left")
    return found


def _few_levels(x: np.ndarray, w: np.ndarray, most: int) -> np.ndarray:
    """The most frequent levels, and one for all others."""
    counts = np.bincount(x, w)
    if len(counts) <= most:
        return x
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(rank[x], most - 1)


def _rank_p_values(
    V: np.ndarray, w: np.ndarray, codes: tuple[ColumnCode, ...]
) -> np.ndarray:
    """Of Spearman's correlation; NaN for categories of more than two levels."""
    there = ~np.isnan(V)
    R = np.stack([_ranks(x, w) for x in V.T], axis=1)
    W = there * w[:, None]
    n = W.T @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        first = (R * W).T @ there / n
        second = (R**2 * W).T @ there / n - first**2
        second = np.where(second > MIN_RANK_VARIANCE, second, np.nan)
        cross = (R * W).T @ R / n - first * first.T
        r = cross / np.sqrt(second * second.T)
        z = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15)) * np.sqrt(
            np.maximum(n - 3, 0)
        )
        p = 2 * ndtr(-np.abs(z))
    ordered = np.array(
        [code.kind != "category" or code.n_levels == 2 for code in codes]
    )
    return np.where(ordered[:, None] & ordered[None], p, np.nan)


def _ranks(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(n,) mid-ranks from 0 to 1, by weight; 0 where a value is missing."""
    found = np.zeros(len(x))
    here = np.flatnonzero(~np.isnan(x))
    if not len(here):
        return found
    values, inverse = np.unique(x[here], return_inverse=True)
    weight = np.bincount(inverse, w[here], len(values))
    upto = np.cumsum(weight)
    found[here] = ((upto - 0.5 * weight) / upto[-1])[inverse]
    return found
