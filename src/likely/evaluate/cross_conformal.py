r"""Conformal intervals and sets from models that were each fitted without some of the rows.

Row i is held out by the model $μ_{-k(i)}$ of its fold, and misses it by $R_i$. The interval of a
new x (Barber, Candès, Ramdas and Tibshirani 2021; jackknife+ where every row is its own fold,
CV+ otherwise) reaches from the $\lfloor α(n+1) \rfloor$-th smallest of $μ_{-k(i)}(x) - R_i$ to the
$\lceil (1-α)(n+1) \rceil$-th smallest of $μ_{-k(i)}(x) + R_i$. Whatever the model, it covers
with probability at least $1 - 2α$, and in practice, where the models are alike, $1 - α$: all rows
serve to learn from and to calibrate by. The set of classes of a new row holds class k unless its
score is above those of too many rows, each compared by the model of its own fold.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.checks import InputError

BLOCK_ENTRIES = 8_000_000
"""The most pairs of an old and a new row that are held in memory at once."""


def upper_quantile(
    values: Float[np.ndarray, "n m"], coverage: float, w: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """The ⌈coverage · (n + 1)⌉-th smallest of each column; infinite where n is too small.

    Args:
        values: (n, m) numbers, a row for each of n observations.
        coverage: between 0 and 1.
        w: (n,) how often each row counts.
    """
    needed = coverage * (w.sum() + 1) * (1 - 1e-12)
    if needed > w.sum():
        return np.full(values.shape[1], np.inf)
    if (w == 1).all():
        k = max(int(np.ceil(needed)), 1) - 1
        return np.partition(values, k, axis=0)[k]
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(w[order], axis=0)
    place = (reached < needed * (1 - 1e-12)).sum(0)
    rows = order[np.minimum(place, len(w) - 1), np.arange(values.shape[1])]
    return values[rows, np.arange(values.shape[1])]


def cross_intervals(
    means: Any, fold: Any, residuals: Any, coverage: float, w: Any = None
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The intervals of m new rows from k models that held out n rows.

    Args:
        means: (k, m) the prediction of each model for each new row.
        fold: (n,) the model that was fitted without each row.
        residuals: (n,) how far that model is from the row: $|y - μ|$.
        coverage: 1 − α.
        w: (n,) how often each row counts.

    Examples:
        >>> means = np.array([[1.0, 1.2]]).T
        >>> fold, residuals = np.arange(20) % 2, np.linspace(0, 1, 20)
        >>> low, high = lk.evaluate.cross_intervals(means, fold, residuals, 0.8)
        >>> print(low.round(2), high.round(2))
        [0.26] [1.95]
    """
    means, R = np.asarray(means, np.float64), np.asarray(residuals, np.float64)
    fold = np.asarray(fold, int)
    _check_coverage(coverage)
    w = np.ones(len(R)) if w is None else np.asarray(w, np.float64)
    m = means.shape[1]
    low, high = np.empty(m), np.empty(m)
    block = max(1, BLOCK_ENTRIES // max(len(R), 1))
    for start in range(0, m, block):
        part = slice(start, start + block)
        centre = means[:, part][fold]
        high[part] = upper_quantile(centre + R[:, None], coverage, w)
        low[part] = -upper_quantile(R[:, None] - centre, coverage, w)
    return low, high


def cross_sets(
    scores: Float[np.ndarray, "k m c"],
    fold: Int[np.ndarray, " n"],
    held_out: Float[np.ndarray, " n"],
    coverage: float,
    w: Any = None,
) -> Bool[np.ndarray, "m c"]:
    """The sets of m new rows from k models that held out n rows.

    Args:
        scores: (k, m, c) the score of each class of each new row, by each model.
        fold: (n,) the model that was fitted without each row.
        held_out: (n,) the score that this model gives to the row's own class.
        coverage: 1 − α.
        w: (n,) how often each row counts.
    """
    _check_coverage(coverage)
    w = np.ones(len(held_out)) if w is None else np.asarray(w, np.float64)
    below = np.zeros(scores.shape[1:])
    for k, of_model in enumerate(scores):
        own = fold == k
        order = np.argsort(held_out[own], kind="stable")
        reached = np.concatenate([[0.0], np.cumsum(w[own][order])])
        below += reached[np.searchsorted(held_out[own][order], of_model, "left")]
    return below < coverage * (w.sum() + 1) * (1 - 1e-12)


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
