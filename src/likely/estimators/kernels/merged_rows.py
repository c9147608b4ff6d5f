r"""Rows in an order that depends on their contents alone, equal rows merged.

A method that walks through rows and stops at a tolerance gives slightly other answers
for rows in another order, and for a row twice instead of once with weight 2. Sorted by a
hash of their contents, with equal rows merged and their weights added, all of these are
the same problem, bit for bit; and columns in another order give the same order of rows.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely.base.rows import Rows
from likely.core.checks import InputError
from likely.models.kernels.functions import Kernel, kernel_of

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with well mixed bits: 2⁶⁴ divided by the golden ratio."""


class MergedRows(NamedTuple):
    """Different rows, sorted by their contents.

    Attributes:
        X: inputs.
        y: targets.
        w: the sum of the weights of the rows that are equal.
        first: the first of the given rows that each one stands for.
        group: the merged row that each given row became.
    """

    X: Float[np.ndarray, "m d"]
    y: np.ndarray
    w: Float[np.ndarray, " m"]
    first: Int[np.ndarray, " m"]
    group: Int[np.ndarray, " n"]


def merge_rows(
    X: Float[np.ndarray, "n d"], y: np.ndarray, w: Float[np.ndarray, " n"]
) -> MergedRows:
    """Sort by contents and merge equal rows (equal in X and in y)."""
    X = np.ascontiguousarray(X) + 0.0  # −0 is 0
    n = len(X)
    order = np.lexsort((np.arange(n), y, *_hashes(X)))
    same = np.zeros(n, bool)
    ahead, behind = order[1:], order[:-1]
    same[1:] = (y[ahead] == y[behind]) & (X[ahead] == X[behind]).all(1)
    number = np.cumsum(~same) - 1
    group = np.empty(n, np.int64)
    group[order] = number
    first = order[~same]
    return MergedRows(X[first], y[first], np.bincount(number, w[order]), first, group)


def rows_for_kernel(model: Any, rows: Rows) -> tuple[Kernel, MergedRows]:
    """The kernel of a model, and the rows that have weight, equal ones merged.

    Precomputed kernel values stay as they are, but have to be square.

    Args:
        model: an estimator with the settings of a kernel.
        rows: the rows of the fit.
    """
    present, rows = np.flatnonzero(rows.is_present), rows.present()
    X, n = rows.X, len(present)
    if model.kernel == "precomputed":
        if n < X.shape[1] and X.shape[1] > present.max():
            X = X[:, present]
        if X.shape != (n, n):
            raise InputError(
                f"a precomputed kernel is square, rows by rows; this one has shape {X.shape}."
            )
        data = MergedRows(X, rows.y, rows.w, present, np.arange(n))
    else:
        data = merge_rows(X, rows.y, rows.w)
        data = data._replace(first=present[data.first])
    settings = {"gamma": model.gamma, "coef0": model.coef0, "degree": model.degree}
    return kernel_of(model.kernel, data.X, data.w, **settings), data


def _hashes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each row from the bits of its entries.

    The second, which sorts first, does not depend on the order of the columns.
    """
    bits = X.view(np.uint64)
    with np.errstate(over="ignore"):
        bits = bits ^ (bits >> np.uint64(29))
        bits = bits * MULTIPLIER
        bits = bits ^ (bits >> np.uint64(32))
        columns = np.arange(1, bits.shape[1] + 1, dtype=np.uint64)
        odd = (columns * MULTIPLIER) | np.uint64(1)
        by_column = (bits * odd).sum(1, dtype=np.uint64)
        total = (bits * MULTIPLIER).sum(1, dtype=np.uint64)
        return by_column, (total ^ (total >> np.uint64(31))) * MULTIPLIER
