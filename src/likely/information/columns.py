"""Information of columns of a table: all pairs at once, and each column about a target."""

from typing import Any

import numpy as np
from scipy.special import entr

from likely.core.checks import InputError, check_finite, check_weights
from likely.information.nearest import (
    sample_class_information,
    sample_mutual_information,
)
from likely.information.probabilities import in_unit

MAX_CELLS = 4_000_000
"""Cells of the largest table of two columns."""


def mutual_information_matrix(
    X: Any, *, bins: int = 10, sample_weight: Any = None, unit: str = "nats"
) -> np.ndarray:
    """The mutual information of all pairs of columns, from tables of counts.

    Numbers with a fraction are cut at quantiles into `bins` bins of about equal weight; whole
    numbers, words and booleans are levels as they are. On the diagonal is the entropy of
    each column. Counts of few rows in many cells look dependent: of b and c levels, by about
    (b − 1)(c − 1)/2n nats.

    Args:
        X: (n, d) rows: an array or a frame.
        bins: into how many bins numbers are cut.
        sample_weight: (n,) how often each row counts.
        unit: "nats" or "bits".

    Returns:
        (d, d), symmetric.

    Examples:
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> lk.information.mutual_information_matrix(X).shape
        (2, 2)
    """
    in_unit(0.0, unit)
    if isinstance(bins, bool) or int(bins) != bins or bins < 2:
        raise InputError(f"bins is {bins}; give a whole number of at least 2.")
    columns = _columns(X)
    w = check_weights(sample_weight, len(columns[0]))
    kept = slice(None) if (w > 0).all() else w > 0
    used = w[kept]
    coded = [
        _codes(i, column[kept], used, int(bins)) for i, column in enumerate(columns)
    ]
    weights = None if (used == 1).all() else used
    entropies = [_entropy(code, levels, weights) for code, levels in coded]
    found = np.diag(entropies)
    for i, (first, b) in enumerate(coded):
        shifted = None
        for j in range(i + 1, len(coded)):
            second, c = coded[j]
            if b * c > MAX_CELLS:
                raise InputError(
                    f"columns {i} and {j} have {b} and {c} levels, too many for a table of "
                    "pairs; cut them into bins or leave out columns that number the rows."
                )
            if shifted is None or shifted[0] != c:
                shifted = (c, first * c)
            both = _entropy(shifted[1] + second, b * c, weights)
            found[i, j] = found[j, i] = max(entropies[i] + entropies[j] - both, 0.0)
    return in_unit(found, unit)


def column_information(
    X: Any, y: Any, *, classes: bool = False, k: int = 3, random_state: int = 0
) -> np.ndarray:
    """What each column says about a target, in nats, by nearest neighbours.

    Args:
        X: (n, d) numbers.
        y: (n,) the target: numbers, or classes.
        classes: whether y is a class.
        k: the number of neighbours.
        random_state: the seed of the noise that breaks ties.

    Returns:
        (d,) the mutual information of each, none below zero.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2))
        >>> values = lk.information.column_information(X, X[:, 0] + 0.1 * rng.normal(size=300))
        >>> int(np.argmax(values))
        0
    """
    X = np.asarray(X, np.float64)
    if X.ndim != 2:
        raise InputError(f"X has shape {X.shape}; give rows, shape (n, d).")
    ask = sample_class_information if classes else sample_mutual_information
    found = [ask(column, y, k=k, random_state=random_state).value for column in X.T]
    return np.array(found)


def _columns(X: Any) -> list[np.ndarray]:
    """The columns of an array or of a frame."""
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals as nw

        columns = nw.from_native(X, eager_only=True).iter_columns()
        found = [column.to_numpy() for column in columns]
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise InputError(f"X has shape {X.shape}; give rows, shape (n, d).")
        found = list(X.T)
    if not found or not len(found[0]):
        raise InputError("X has no rows or no columns; give at least one of each.")
    return found


def _codes(i: int, x: np.ndarray, w: np.ndarray, bins: int) -> tuple[np.ndarray, int]:
    """The level of each row, and how many levels there are."""
    if x.dtype.kind == "f":
        check_finite(f"column {i} of X", x)
        if (x != np.rint(x)).any():
            order = np.argsort(x, kind="stable")
            share = np.cumsum(w[order])
            at = np.searchsorted(share, share[-1] * np.arange(1, bins) / bins)
            edges = np.unique(x[order[at]])
            return np.searchsorted(edges, x, side="left"), len(edges) + 1
    if x.dtype.kind == "b":
        x = x.astype(np.int64)
    if x.dtype.kind in "iuf" and x.max() - x.min() < 4 * len(x):  # counting is cheap
        code = (x - x.min()).astype(np.int64)
        present = np.bincount(code) > 0
        if present.all():
            return code, len(present)
        return (np.cumsum(present) - 1)[code], int(present.sum())
    levels, code = np.unique(
        x.astype(str) if x.dtype.kind == "O" else x, return_inverse=True
    )
    return code, len(levels)


def _entropy(code: np.ndarray, levels: int, weights: np.ndarray | None) -> float:
    """The entropy of the shares of levels, in nats."""
    counts = np.bincount(code, weights, levels)
    return float(entr(counts / counts.sum()).sum())
