r"""Pointwise mutual information: how much more often two words meet than by chance.

$$\operatorname{PMI}(v, w) = \log\frac{P(v, w)}{P(v)\,P(w)} \approx x_v \cdot z_w + \text{const}$$

with probabilities from a co-occurrence matrix. Word vectors approximate it: by factorisation of
the matrix, or by skip-gram, in which the constant of its negative samples is kept apart.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from likely.base.settings import above_zero

MAX_BLOCK_NUMBERS = 2**24
"""Numbers that are in memory at once where pairs of vectors are multiplied."""


def pmi(counts: Any, *, shift: float | int = 1.0, positive: bool = True) -> csr_array:
    r"""(V, V) log P(v, w)/(P(v) P(w)) − log shift of the pairs that occur, sparse.

    Pairs that never occur have −∞. With `positive` they, and all others below zero, are 0
    (positive PMI); without it they are not stored.

    Args:
        counts: (V, V) a co-occurrence matrix, dense or sparse.
        shift: k of shifted PMI: what skip-gram with k negative samples approximates.
        positive: whether what is below zero becomes 0.
    """
    found = _pairs(counts)
    found.data = _log_ratios(found) - np.log(above_zero("shift", shift))
    if positive:
        found.data = np.maximum(found.data, 0.0)
        found.eliminate_zeros()
    return found


def pmi_constant(counts: Any, X: np.ndarray, Z: np.ndarray) -> float:
    """The constant c of PMI ≈ x·z + c: least squares, each pair as often as it occurs.

    Args:
        counts: (V, V) a co-occurrence matrix.
        X: (V, d) the vectors of words.
        Z: (V, d) their vectors as neighbours of others.
    """
    found = _pairs(counts)
    row, column, residuals = _rows(found), found.indices, _log_ratios(found)
    step = max(1, MAX_BLOCK_NUMBERS // X.shape[1])
    for begin in range(0, len(row), step):
        block = slice(begin, begin + step)
        residuals[block] -= np.einsum("nd,nd->n", X[row[block]], Z[column[block]])
    return float(residuals @ found.data / found.data.sum())


def _pairs(counts: Any) -> csr_array:
    """The pairs that occur, each stored once."""
    found = csr_array(counts, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


def _rows(counts: csr_array) -> np.ndarray:
    """The row of each stored entry."""
    return np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))


def _log_ratios(counts: csr_array) -> np.ndarray:
    """log P(v, w)/(P(v) P(w)) of each stored entry."""
    by_row, by_column = counts.sum(1), counts.sum(0)
    chance = by_row[_rows(counts)] * by_column[counts.indices] / by_row.sum()
    return np.log(counts.data / chance)
