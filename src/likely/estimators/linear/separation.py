r"""Separation: where a plane parts the classes, the likelihood has no maximum.

A direction B with $a_i (B_{y_i} - B_c) \ge 0$ for every row and every other class c, and not
all of them 0, can be followed for ever. If all are above 0 the separation is *complete*,
otherwise *quasi-complete*: rows on the plane stay uncertain, but some coefficients still
run to infinity. Whether there is one is a linear program,

$$\min \lVert B\rVert_1 \quad\text{where}\quad a_i(B_{y_i} - B_c) \ge 0, \quad
  \text{mean}_i\; a_i(B_{y_i} - B_c) = 1,$$

whose answer has few entries: the columns to name. Where a fit gets every row right, its own
coefficients are such a direction, and the program is left out if it would be large.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

MAX_SIZE = 3_000_000
"""The most numbers in the linear program."""
MAX_NAMED_SIZE = 300_000
"""The most numbers in a linear program that is solved for the names of columns alone."""


class Separation(NamedTuple):
    """That there is one, of which kind, and by which columns."""

    complete: bool
    columns: list[int]
    """Indices into X; empty where the intercept alone does it."""


def separation(
    X: np.ndarray,
    codes: np.ndarray,
    classes: int,
    *,
    intercept: bool,
    complete: bool = False,
) -> Separation | None:
    """Look for a separating direction among rows that count; None where there is none.

    Args:
        X: the columns of rows that count.
        codes: the class of each row.
        classes: how many there are.
        intercept: whether there is one.
        complete: whether a fit is known that gets every row right.
    """
    alone = _by_one_column(X, codes) if classes == 2 and intercept else None
    if alone is not None:
        return alone
    rows, columns = len(X) * (classes - 1), X.shape[1] + intercept
    large = rows * columns * (classes - 1) > MAX_NAMED_SIZE
    if complete and (large or columns > len(X)):  # any classes of so few rows
        return Separation(True, [])
    if rows * columns > MAX_SIZE:
        return None
    A = X - X.mean(0) if intercept else X
    scale = np.abs(A).max(0, initial=0.0)
    A = A / np.where(scale > 0, scale, 1.0)
    A = np.column_stack([A, np.ones(len(A))]) if intercept else A
    margins: Any = _margins(A, codes.astype(int), classes)
    weak = _direction(margins, 0.0, normalise=True)
    if weak is None:
        return None
    strong = _direction(margins, 1.0, normalise=False)
    B = np.abs(weak if strong is None else strong).reshape(-1, A.shape[1]).max(0)
    used = np.flatnonzero(B[: X.shape[1]] > 1e-7 * max(B.max(), 1e-300))
    return Separation(strong is not None, [int(j) for j in used])


def _by_one_column(X: np.ndarray, codes: np.ndarray) -> Separation | None:
    """A column whose ranges in the two classes do not overlap, or touch in one value."""
    zero, one = X[codes == 0], X[codes == 1]
    gap = np.maximum(one.min(0) - zero.max(0), zero.min(0) - one.max(0))
    varies = X.min(0) < X.max(0)
    j = int(np.argmax(np.where(varies, gap, -np.inf)))
    return Separation(bool(gap[j] > 0), [j]) if varies[j] and gap[j] >= 0 else None


def _margins(A: np.ndarray, codes: np.ndarray, classes: int) -> csr_array | np.ndarray:
    """Rows whose product with vec(B) is a_i (B_{y_i} − B_c); class 0 has B = 0."""
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None] * A
    n, p = A.shape
    blocks = []
    for c in range(classes):
        rows = np.flatnonzero(codes != c)
        block = np.zeros((len(rows), classes - 1, p))
        own = codes[rows]
        here = own > 0
        block[np.flatnonzero(here), own[here] - 1] = A[rows[here]]
        if c > 0:
            block[:, c - 1] -= A[rows]
        blocks.append(block.reshape(len(rows), -1))
    return csr_array(np.concatenate(blocks))


def _direction(margins, least: float, *, normalise: bool) -> np.ndarray | None:
    """The direction of least absolute sum with margins of at least this, if there is one."""
    q = margins.shape[1]
    both = csr_array(margins)
    wide = _side_by_side(both)
    equal = wide.mean(axis=0).reshape(1, -1) if normalise else None
    found = linprog(
        np.ones(2 * q),
        A_ub=-wide,
        b_ub=np.full(margins.shape[0], -least),
        A_eq=equal,
        b_eq=np.ones(1) if normalise else None,
        bounds=(0, None),
        method="highs",
    )
    return found.x[:q] - found.x[q:] if found.status == 0 else None


def _side_by_side(margins: csr_array) -> csr_array:
    """[M, −M]: a direction as the difference of two that are not negative."""
    from scipy.sparse import hstack

    return csr_array(hstack([margins, -margins]))
