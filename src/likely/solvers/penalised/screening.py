r"""Screening of the columns for the lasso: guess from correlations, then check.

The first guess is the columns most correlated with y. The others are checked at the
solution, where an unused coefficient needs $|q_j| \le t$ with $q = X^\top W r/\sum w$;
the worst violations are added, and it is solved again. So a few penalties, or very many
columns, need a small part of $X^\top X$.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from likely.solvers.least_squares.moments import sample_medians

MAX_DENSE_COLUMNS = 4096
"""Columns up to which all of them may be used."""
MAX_SCREENED_PENALTIES = 10
"""Penalties up to which screening is worth it where all columns could be used."""
NEAR_THRESHOLD = 0.9
"""Fraction of its threshold from which a column is added along with the violations."""
ROUNDING = 1e-9


def correlations(
    X: Any,
    R: Float[np.ndarray, "r n"],
    W: Float[np.ndarray, "r n"],
    *,
    centre: bool,
) -> Float[np.ndarray, "r d"]:
    """XᵀWr/Σw of each row of residuals r, centred first if asked."""
    total = W.sum(1, keepdims=True)
    if not centre:
        return (W * R / total) @ X
    R = R - (W * R).sum(1, keepdims=True) / total
    R = W * R / total
    rest = R.sum(1, keepdims=True)  # zero up to rounding
    return R @ X - rest * sample_medians(X)


def first_guess(C: Float[np.ndarray, "m d"], penalties: int) -> Bool[np.ndarray, " d"]:
    """The first set of columns: all for a long path, if there are not too many."""
    d = C.shape[1]
    if d <= MAX_DENSE_COLUMNS and penalties > MAX_SCREENED_PENALTIES:
        return np.ones(d, bool)
    count = min(d, max(32, min(d // 5, MAX_DENSE_COLUMNS // 4)))
    return _all_if_most(_top(np.abs(C).max(0), count))


def enlarged(
    columns: Bool[np.ndarray, " d"],
    Q: Float[np.ndarray, "r d"],
    t: Float[np.ndarray, "r 1"],
) -> Bool[np.ndarray, " d"]:
    """The columns, with the worst violations among the others added."""
    excess = np.where(columns, 0.0, (np.abs(Q) / t).max(0))
    if excess.max(initial=0.0) <= 1 + ROUNDING:
        return columns
    missed = excess > NEAR_THRESHOLD  # those may violate the next time
    if missed.sum() > columns.sum():
        missed &= _top(excess, int(columns.sum()))
    return _all_if_most(columns | missed)


def _all_if_most(columns: np.ndarray) -> np.ndarray:
    """All columns if most are included already and there are not too many."""
    most = columns.mean() > 0.5 and len(columns) <= MAX_DENSE_COLUMNS
    return np.ones_like(columns) if most else columns


def _top(size: np.ndarray, count: int) -> np.ndarray:
    """A mask of the `count` largest entries."""
    top = np.zeros(len(size), bool)
    top[np.argpartition(size, -count)[-count:]] = True
    return top
