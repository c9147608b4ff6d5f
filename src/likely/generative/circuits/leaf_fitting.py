"""Leaves fitted by weighted likelihood, with one imaginary row of what more rows look like.

Of several families that suit a column the one of the smallest BIC is taken.
"""

import numpy as np

from likely.families import NegativeBinomial
from likely.families.negative_binomial_slopes import marginal_on_host
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NEGATIVE,
    NORMAL,
    POISSON,
    ROUNDED,
    STUDENT,
)
from likely.generative.circuits.leaves import Leaf, log_prob
from likely.preprocess.codec.column_code import ColumnCode

LEAST_SCALE = 0.01
"""The smallest σ, in units of the deviation of the column."""
DEGREES = (3.0, 6.0)
"""ν that are tried."""
MIN_STUDENT_ROWS, MIN_HISTOGRAM_ROWS, MIN_BIN_ROWS = 20.0, 100.0, 8.0
LEAST_RATE = 1e-3


def fit_leaf(
    code: ColumnCode, column: int, x: np.ndarray, w: np.ndarray, prior: np.ndarray
) -> Leaf:
    """The leaf of largest likelihood, by a family that suits the column.

    Args:
        code: the kind of the column.
        column: its number.
        x: (n,) values, NaN where missing.
        w: (n,) weights.
        prior: of one imaginary row: see `root_prior` and `prior_of`.
    """
    here = ~np.isnan(x)
    x, w = x[here], w[here]
    if code.kind == "category":
        table = category_table(_counts(x, w, code), prior)
        return Leaf(CATEGORY, column, table=table, prior=prior)
    total = float(w.sum())
    if code.kind == "count":
        rate = (float(w @ x) + prior[0]) / (total + 1.0)
        poisson = Leaf(POISSON, column, max(rate, LEAST_RATE), prior=prior)
        return _best([poisson, *_negative(column, x, w, prior)], x, w)
    mean = float(w @ x) / total if total > 0 else 0.0
    spread = float(w @ (x - mean) ** 2)
    scale = normal_scale(spread, total, prior[0], least_scale(code))
    if code.kind == "whole":
        anchor = np.array([-code.center / code.scale])  # v of the whole number 0
        return Leaf(ROUNDED, column, mean, scale, code.step, edges=anchor, prior=prior)
    normal = Leaf(NORMAL, column, mean, scale, prior=prior)
    others = [*_students(normal, x, w, code), *_histogram(column, x, w, code, prior)]
    return _best([normal, *others], x, w)


def root_prior(code: ColumnCode, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What the leaves of a whole table are drawn to."""
    if code.kind == "category":
        return np.full(code.n_levels, 1 / code.n_levels)
    return prior_of(code, x, w, np.ones(1))


def prior_of(
    code: ColumnCode, x: np.ndarray, w: np.ndarray, above: np.ndarray
) -> np.ndarray:
    """The variance, rate or shares of some rows: one imaginary row of the leaves below.

    Args:
        code: of the column.
        x: (n,) values, NaN where missing.
        w: (n,) weights.
        above: the same of more rows, which counts as one row here.
    """
    here = ~np.isnan(x)
    x, w = x[here], w[here]
    if code.kind == "category":
        return np.exp(category_table(_counts(x, w, code), above))
    total = float(w.sum())
    mean = float(w @ x) / total if total > 0 else 0.0
    if code.kind == "count":
        return np.array([(total * mean + above[0]) / (total + 1.0)])
    return np.array([(float(w @ (x - mean) ** 2) + above[0]) / (total + 1.0)])


def least_scale(code: ColumnCode) -> float:
    """The smallest σ of a column: numbers are not known better than they are written."""
    if code.kind == "whole":
        return 0.3 * code.step
    return max(LEAST_SCALE, code.resolution / np.sqrt(12))


def normal_scale(
    spread: float | np.ndarray, total: float | np.ndarray, variance: float, least: float
) -> float:
    """σ from a sum of squares, with one imaginary row of the variance of more rows."""
    return float(max(np.sqrt((spread + variance) / (total + 1.0)), least))


def category_table(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Logarithms of the shares of counts and one imaginary row."""
    return np.log((counts + prior) / (counts.sum() + 1.0))


def _counts(x: np.ndarray, w: np.ndarray, code: ColumnCode) -> np.ndarray:
    return np.bincount(x.astype(np.int64), w, code.n_levels)


def _students(
    normal: Leaf, x: np.ndarray, w: np.ndarray, code: ColumnCode
) -> list[Leaf]:
    """Student leaves of fixed ν by EM, where the rows are more than a few."""
    if w.sum() < MIN_STUDENT_ROWS:
        return []
    found = []
    for nu in DEGREES:
        mu, s = normal.a, normal.b
        for _ in range(30):
            u = w * (nu + 1) / (nu + ((x - mu) / s) ** 2)
            mu = float(u @ x / u.sum())
            spread = float(u @ (x - mu) ** 2)
            s = normal_scale(spread, float(w.sum()), normal.prior[0], least_scale(code))
        found.append(Leaf(STUDENT, normal.column, mu, s, nu, prior=normal.prior))
    return found


def _histogram(
    column: int, x: np.ndarray, w: np.ndarray, code: ColumnCode, prior: np.ndarray
) -> list[Leaf]:
    """A histogram of bins of equal weight, with tails that fall off outside."""
    total = float(w.sum())
    if total < MIN_HISTOGRAM_ROWS:
        return []
    bins = int(min(np.ceil(total ** (1 / 3)) * 2, total / MIN_BIN_ROWS, 40))
    order = np.argsort(x, kind="stable")
    share = np.cumsum(w[order]) / total
    at = np.searchsorted(share, np.arange(1, bins) / bins)
    gap = max(code.resolution, 1e-9)
    inner = np.unique(x[order[np.minimum(at, len(x) - 1)]]) + 0.5 * gap
    low, high = float(x.min()) - 0.5 * gap, float(x.max()) + 0.5 * gap
    inner = inner[(inner > low) & (inner < high)]
    margin = 0.5 * (high - low)
    edges = np.concatenate([[low - margin, low], inner, [high, high + margin]])
    counts = np.histogram(x, edges, weights=w)[0]
    return [
        Leaf(
            HISTOGRAM, column, table=densities(counts, edges), edges=edges, prior=prior
        )
    ]


def densities(counts: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Log densities between edges; one imaginary row is spread over all of the range."""
    width = np.diff(edges)
    share = width / width.sum()
    return np.log((counts + share) / (counts.sum() + 1.0)) - np.log(width)


def _negative(
    column: int, x: np.ndarray, w: np.ndarray, prior: np.ndarray
) -> list[Leaf]:
    """A negative binomial leaf, where counts spread more than Poisson's."""
    total = float(w.sum())
    if total < MIN_STUDENT_ROWS:
        return []
    mean = float(w @ x) / total
    if not float(w @ (x - mean) ** 2) / total > 1.05 * mean > 0:
        return []
    eta = marginal_on_host(NegativeBinomial(), x, w)
    if eta is None or not np.isfinite(eta).all():
        return []
    m, r = np.exp(eta).tolist()
    return [Leaf(NEGATIVE, column, r, m, prior=prior)]


def _best(leaves: list[Leaf], x: np.ndarray, w: np.ndarray) -> Leaf:
    """The leaf of smallest BIC."""
    if len(leaves) == 1 or not len(x):
        return leaves[0]
    log_n = np.log(max(float(w.sum()), 2.0))
    gains = [
        float(w @ log_prob(leaf, x)) - 0.5 * log_n * n_numbers(leaf) for leaf in leaves
    ]
    return leaves[int(np.argmax(gains))]


def n_numbers(leaf: Leaf) -> int:
    """How many numbers a leaf is fitted by."""
    free = {NORMAL: 2, STUDENT: 3, ROUNDED: 2, POISSON: 1, NEGATIVE: 2}
    return free.get(leaf.kind, len(leaf.table) - 1)
