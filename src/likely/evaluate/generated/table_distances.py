r"""Distances between the columns of two tables, one at a time and in pairs.

Columns are made discrete: numbers by the quantiles of the first table, missing cells as a
level of their own. The distance of a column is the total variation $\tfrac12 \sum_k |p_k -
q_k|$: the share of rows that would have to change; that of a pair is the same over the joint
levels of two columns. Samples of one distribution differ by chance, by about

$$\tfrac12 \sum_k \sqrt{\tfrac2π\, r_k (1 - r_k) (1/n + 1/m)},$$

with r the shares in both tables, which is given beside it.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.core.checks import InputError

MARGINAL_BINS = 20
"""Bins of a column of numbers, where it stands alone."""
PAIR_BINS = 5
"""Bins of a column of numbers in a pair."""


class TableDistances(NamedTuple):
    """Total variation distances between two tables."""

    columns: Float[np.ndarray, " q"]
    """The distance of each column."""
    by_chance: Float[np.ndarray, " q"]
    """About the distance of two samples of one distribution."""
    pairs: Float[np.ndarray, "q q"]
    """The distance of each pair of columns; 0 on the diagonal."""
    pairs_by_chance: Float[np.ndarray, "q q"]

    @property
    def mean_column(self) -> float:
        """The mean distance of columns."""
        return float(self.columns.mean())

    @property
    def mean_pair(self) -> float:
        """The mean distance of pairs; NaN for one column."""
        return _mean_of_pairs(self.pairs)

    @property
    def mean_pair_by_chance(self) -> float:
        """The mean distance of pairs by chance."""
        return _mean_of_pairs(self.pairs_by_chance)

    def __str__(self) -> str:
        return (
            f"columns differ by {self.mean_column:.3f} in the mean "
            f"({float(self.by_chance.mean()):.3f} by chance), pairs by "
            f"{self.mean_pair:.3f} ({self.mean_pair_by_chance:.3f})"
        )


def table_distances(A: Any, B: Any, discrete: Any = None) -> TableDistances:
    """How far the columns of two tables, and their pairs, are apart.

    Args:
        A: (n, q) the columns of a table as numbers or codes, NaN where a cell is missing.
        B: (m, q) those of another.
        discrete: (q,) which columns are codes of levels; none by default.

    Examples:
        >>> A = np.random.default_rng(0).normal(size=(200, 2))
        >>> found = lk.evaluate.table_distances(A, A)
        >>> bool(found.columns.max() < 0.01)
        True
    """
    A, B = (np.asarray(rows, np.float64) for rows in (A, B))
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[1] or not A.shape[1]:
        raise InputError(
            f"the tables have shapes {A.shape} and {B.shape}; give the same columns."
        )
    if not len(A) or not len(B):
        raise InputError("one of the tables has no rows.")
    q = A.shape[1]
    chosen = np.zeros(q, bool) if discrete is None else np.asarray(discrete, bool)
    if chosen.shape != (q,):
        raise InputError(f"discrete has shape {chosen.shape}; give {q} booleans.")
    codes = chosen.tolist()
    fine = [_levels(A[:, j], B[:, j], codes[j], MARGINAL_BINS) for j in range(q)]
    coarse = [_levels(A[:, j], B[:, j], codes[j], PAIR_BINS) for j in range(q)]
    alone = np.array([_variation(a, b) for a, b in fine])
    pairs = np.zeros((2, q, q))
    for i in range(q):
        for j in range(i):
            size = int(max(coarse[j][0].max(), coarse[j][1].max())) + 1
            joint = [coarse[i][side] * size + coarse[j][side] for side in (0, 1)]
            pairs[:, i, j] = pairs[:, j, i] = _variation(*joint)
    return TableDistances(alone[:, 0], alone[:, 1], pairs[0], pairs[1])


def _levels(
    a: Float[np.ndarray, " n"], b: Float[np.ndarray, " m"], discrete: bool, bins: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Two columns as whole numbers from 0 on; missing cells are 0."""
    known = a[~np.isnan(a)]
    both = np.concatenate([known, b[~np.isnan(b)]])
    values = np.unique(both)
    if discrete or len(values) <= bins:
        edges = values
    else:
        some = known if known.size else both
        edges = np.unique(np.quantile(some, np.arange(1, bins) / bins))
    side = "left" if discrete or len(values) <= bins else "right"
    found = []
    for x in (a, b):
        code = np.searchsorted(edges, np.where(np.isnan(x), 0.0, x), side=side) + 1
        found.append(np.where(np.isnan(x), 0, code))
    return found[0], found[1]


def _variation(
    a: Int[np.ndarray, " n"], b: Int[np.ndarray, " m"]
) -> tuple[float, float]:
    """The total variation distance of two samples of levels, and about that by chance."""
    n, m = len(a), len(b)
    codes = np.unique(np.concatenate([a, b]), return_inverse=True)[1]
    p, q = (np.bincount(c, minlength=codes.max() + 1) for c in (codes[:n], codes[n:]))
    r = (p + q) / (n + m)
    chance = np.sqrt(2 / np.pi * r * (1 - r) * (1 / n + 1 / m)).sum() / 2
    return float(np.abs(p / n - q / m).sum() / 2), float(chance)


def _mean_of_pairs(D: Float[np.ndarray, "q q"]) -> float:
    found = D[np.tril_indices(len(D), -1)]
    return float(found.mean()) if found.size else float("nan")
