r"""Which columns a lasso needs to look at: guess from the correlations, then check.

The first guess is the columns most correlated with y. What it leaves out is checked at
the answer, where an unused coefficient needs $|q_j| \le t$ with $q = X^\top W r/\sum w$;
the worst that fail come in, and it is solved again. So a few penalties, or very many
columns, need a small part of $X^\top X$.
"""

import numpy as np
from jaxtyping import Bool, Float

from likely.solvers.least_squares.moments import middle

ALL, FEW, NEAR, ROUNDING = 4096, 10, 0.9, 1e-9


def correlations(
    X: Float[np.ndarray, "n d"],
    R: Float[np.ndarray, "r n"],
    W: Float[np.ndarray, "r n"],
    *,
    centre: bool,
) -> Float[np.ndarray, "r d"]:
    """XᵀWr/Σw of each row of residuals, their weighted mean taken out if asked."""
    total = W.sum(1, keepdims=True)
    if not centre:
        return (W * R / total) @ X
    R = R - (W * R).sum(1, keepdims=True) / total
    R = W * R / total
    return R @ X - R.sum(1, keepdims=True) * middle(X)  # the sum is not quite zero


def first_guess(C: Float[np.ndarray, "m d"], penalties: int) -> Bool[np.ndarray, " d"]:
    """The columns to begin with: all for a long path, if there are not too many."""
    d = C.shape[1]
    if d <= ALL and penalties > FEW:
        return np.ones(d, bool)
    return _most(_top(np.abs(C).max(0), min(d, max(32, min(d // 5, ALL // 4)))))


def enlarged(
    columns: Bool[np.ndarray, " d"],
    Q: Float[np.ndarray, "r d"],
    t: Float[np.ndarray, "r 1"],
) -> Bool[np.ndarray, " d"]:
    """The columns and the worst of those that should have been among them."""
    excess = np.where(columns, 0.0, (np.abs(Q) / t).max(0))
    if excess.max(initial=0.0) <= 1 + ROUNDING:
        return columns
    missed = excess > NEAR  # who is close now may be over next time
    if missed.sum() > columns.sum():
        missed &= _top(excess, int(columns.sum()))
    return _most(columns | missed)


def _most(columns: np.ndarray) -> np.ndarray:
    """All columns if most are in already and there are not too many."""
    many = columns.mean() > 0.5 and len(columns) <= ALL
    return np.ones_like(columns) if many else columns


def _top(size: np.ndarray, count: int) -> np.ndarray:
    """The `count` largest."""
    top = np.zeros(len(size), bool)
    top[np.argpartition(size, -count)[-count:]] = True
    return top
