r"""Rows in an order that depends on what they hold alone, equal ones merged.

A method that walks through rows and stops at a tolerance gives slightly other answers
for rows in another order, and for a row twice instead of once with weight 2. Sorted by a
hash of their contents, with equal rows merged and their weights added, all of these are
the same problem, bit for bit; and columns in another order give the same order of rows.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

MIX = np.uint64(0x9E3779B97F4A7C15)


class Canonical(NamedTuple):
    """Merged rows in their own order."""

    X: Float[np.ndarray, "m d"]
    y: np.ndarray
    w: Float[np.ndarray, " m"]
    first: Int[np.ndarray, " m"]
    """The first of the given rows that each one stands for."""
    place: Int[np.ndarray, " n"]
    """Where each given row went."""


def canonical(
    X: Float[np.ndarray, "n d"], y: np.ndarray, w: Float[np.ndarray, " n"]
) -> Canonical:
    """Sort by contents and merge equal rows (equal in X and in y)."""
    X = np.ascontiguousarray(X) + 0.0  # −0 is 0
    n = len(X)
    order = np.lexsort((np.arange(n), y, *_hashes(X)))
    same = np.zeros(n, bool)
    ahead, behind = order[1:], order[:-1]
    same[1:] = (y[ahead] == y[behind]) & (X[ahead] == X[behind]).all(1)
    group = np.cumsum(~same) - 1
    place = np.empty(n, np.int64)
    place[order] = group
    first = order[~same]
    return Canonical(X[first], y[first], np.bincount(group, w[order]), first, place)


def _hashes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers for each row from the bits of its entries.

    The second, which sorts first, does not depend on the order of the columns.
    """
    bits = X.view(np.uint64)
    with np.errstate(over="ignore"):
        bits = bits ^ (bits >> np.uint64(29))
        bits = bits * MIX
        bits = bits ^ (bits >> np.uint64(32))
        odd = (np.arange(1, bits.shape[1] + 1, dtype=np.uint64) * MIX) | np.uint64(1)
        placed = (bits * odd).sum(1, dtype=np.uint64)
        total = (bits * MIX).sum(1, dtype=np.uint64)
        return placed, (total ^ (total >> np.uint64(31))) * MIX
