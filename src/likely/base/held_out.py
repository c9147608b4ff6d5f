r"""Rows held out of a fit: which they are, and the scale of the errors on them.

Which rows are held out depends on the order of the numbers in each column alone. So a row
of weight 2 is the row twice, and an absent row, the order of the rows or the unit of a
column change nothing. Rows of equal inputs are held out together, since a row whose copy
was learned from is not new; only where inputs recur often (as those of a few categories do)
are their rows assigned one by one.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.sparse import issparse

N_PARTS = 5
OFTEN = 2.0 * N_PARTS
"""The weight of equal inputs from which on they are assigned one by one."""
ROWS_THAT_SUFFICE = 30.0
"""Rows held out from which on their errors alone say what errors are like."""
MAX_COMPARED_COLUMNS = 256
"""Columns by which rows are compared; of more, some that are evenly spaced."""
MAX_ROWS_FOR_PARTS = 2000
"""Rows up to which every part is held out in turn; of more rows one part says enough."""


def held_out_shares(
    X: Any,
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    n_parts: int = N_PARTS,
) -> Float[np.ndarray, "k n"]:
    """The share of each row's weight that each part holds out; the parts sum to 1.

    Args:
        X: (n, d) inputs of rows that all have weight, maybe a sparse matrix; NaN is a
            value like others.
        y: their targets.
        w: their weights.
        n_parts: the number of parts.
    """
    inputs = _input_hashes(X)
    group, weight = _groups(inputs, w)
    recurs = weight >= OFTEN
    rank = np.cumsum(~recurs) - 1  # among those that are held out together
    shares = (rank[group] % n_parts == np.arange(n_parts)[:, None]).astype(float)
    often = recurs[group]
    if often.any():
        hashes = _mixed(inputs[often], _ranks(y)[often])
        shares[:, often] = _one_by_one(*_groups(hashes, w[often]), n_parts)
    return shares


def twin_groups(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"]
) -> Int[np.ndarray, " n"] | None:
    """The rows of equal inputs that are new together, as numbers; None if all differ.

    Inputs that recur often are each their own group.
    """
    group, weight = _groups(_hash(map(_bits, X.T), len(X)), w)
    if len(weight) == len(X):
        return None
    return np.where(weight[group] < OFTEN, group, len(weight) + np.arange(len(X)))


def unseen_with_twins(
    unseen: Bool[np.ndarray, "m n"],
    X: Float[np.ndarray, "n d"],
    w: Float[np.ndarray, " n"],
) -> Bool[np.ndarray, "m n"]:
    """Which rows a member has not seen, neither themselves nor a twin of equal inputs."""
    twins = twin_groups(X, w)
    if twins is None:
        return unseen
    return np.stack([np.bincount(twins, ~own)[twins] == 0 for own in unseen])


def fit_parts(
    X: Any,
    y: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    max_rows: int = MAX_ROWS_FOR_PARTS,
) -> list[Float[np.ndarray, " n"]]:
    """The shares of the parts to hold out in turn: all of few rows, one of many.

    Parts without a row, or that leave nothing to learn from, are left out.
    """
    shares = held_out_shares(X, y, w)
    if len(y) > max_rows:
        shares = shares[:1]
    return [part for part in shares if part.any() and (part < 1).any()]


def _input_hashes(X: Any) -> Shaped[np.ndarray, " n"]:
    """A number of 64 bits for the ranks in each row, the same for equal rows."""
    n, d = X.shape
    if issparse(X):  # zeros add nothing
        by_column = np.lexsort((X.data, X.indices))
        column, value = X.indices[by_column], X.data[by_column]
        new = np.r_[True, (np.diff(column) != 0) | (np.diff(value) != 0)]
        first = np.searchsorted(column, column)
        rank = np.cumsum(new)
        parts = np.empty(X.nnz, np.uint64)
        own = (rank - rank[first] + 1).astype(np.uint64)
        parts[by_column] = _mixed(_of_column(column), own)
        sums = np.r_[np.zeros(1, np.uint64), np.cumsum(parts)]
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    some = np.arange(d)
    if d > MAX_COMPARED_COLUMNS:
        some = np.linspace(0, d - 1, MAX_COMPARED_COLUMNS).astype(int)
    return _hash((_ranks(X[:, j]) for j in some), n)


def _hash(columns: Iterable[np.ndarray], n: int) -> Shaped[np.ndarray, " n"]:
    """A number of 64 bits for the contents of each of n rows."""
    found = np.zeros(n, np.uint64)
    for column in columns:
        found = _mixed(found, column)
    return found


def _of_column(column: np.ndarray) -> np.ndarray:
    """A number for each column, from its place."""
    return _mixed(np.zeros(len(column), np.uint64), column.astype(np.uint64))


def _mixed(found: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The hashes with one more column of whole numbers."""
    found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return found ^ (found >> np.uint64(32))


def _ranks(column: np.ndarray) -> np.ndarray:
    """The rank of each number among the different ones: the same in any unit."""
    return np.unique(column, return_inverse=True)[1].astype(np.uint64)


def _bits(column: np.ndarray) -> np.ndarray:
    """The bits of each number; there is one zero and one NaN."""
    return np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)


def _groups(hashes: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of each row, and the weight of each group."""
    group = np.unique(hashes, return_inverse=True)[1]
    return group, np.bincount(group, w)


def _one_by_one(group: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """(k, n) the shares where the weight of each group is assigned in units of 1."""
    turn = (np.arange(k)[:, None] - np.arange(len(weight))) % k
    rest = weight % k
    own = (weight - rest) / k + np.clip(rest - turn, 0.0, 1.0)
    return (own / weight)[:, group]


def effective_rows(w: Float[np.ndarray, " n"]) -> float:
    """How many rows the weights stand for: their sum, or more where they were scaled down."""
    largest = w.max(initial=0.0)
    if largest == 0:
        return 0.0
    v = w / largest
    return float(max(w.sum(), v.sum() ** 2 / (v @ v)))


def error_variance(
    errors: Float[np.ndarray, " m"],
    w: Float[np.ndarray, " m"],
    y: Float[np.ndarray, " n"],
    w_all: Float[np.ndarray, " n"],
) -> float:
    """The mean squared error on rows held out, wide where they are few, never zero.

    Args:
        errors: of the rows held out; of none at all the answer is the variance of y.
        w: their weights.
        y: the targets of all rows.
        w_all: their weights.
    """
    least = least_variance(y, w_all)
    if not w.any():
        return max(variance_of(y, w_all), least)
    square = float(np.average(errors * errors, weights=w))
    return max(square + variance_of_few(w, y, w_all), least)


def variance_of_few(
    w: Float[np.ndarray, " m"], y: Float[np.ndarray, " n"], w_all: np.ndarray
) -> float:
    r"""What few errors do not say about the next one: $20 s^2 (m^{-4} - 30^{-4})$.

    s² is the variance of y; for m = 30 rows held out and more it is zero.

    Args:
        w: the weights of the rows held out.
        y: the targets of all rows.
        w_all: their weights.
    """
    m = max(effective_rows(w), 2.0)
    return max(20 * variance_of(y, w_all) * (m**-4 - ROWS_THAT_SUFFICE**-4), 0.0)


def least_variance(y: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]) -> float:
    """A variance that is as good as zero for numbers of this size, but is not zero."""
    size = float(np.average(np.abs(y), weights=w))
    return max(1e-12 * variance_of(y, w), (1e-9 * size) ** 2, 1e-200)


def variance_of(y: Float[np.ndarray, " n"], w: Float[np.ndarray, " n"]) -> float:
    """The weighted variance."""
    return float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
