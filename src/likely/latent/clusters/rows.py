"""Checked rows of clusterers, and rows moved to 0 and scaled to 1."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import at_least
from likely.core.checks import InputError, check_finite

FEW_ROWS, MANY_STARTS, FEW_STARTS = 10_000, 10, 3
"""Up to how many different rows there are many starts by default, and how many."""
CONSTANT = 1e-14
"""A column that varies by a smaller share of its values is constant."""


def weighted_rows(
    estimator: Any, X: Any, sample_weight: Any, *, allow_nan: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) rows and (n,) weights; rows of weight 0 may hold anything.

    Args:
        estimator: whose `n_features_in_` and `feature_names_in_` are set.
        X: (n, d) rows.
        sample_weight: how often each row counts, or None.
        allow_nan: whether values of rows that count may be missing.
    """
    X = validate_data(estimator, dense(X), dtype=np.float64, ensure_all_finite=False)
    w = weights_of(sample_weight, len(X))
    names = getattr(estimator, "feature_names_in_", None)
    check_present("X", X, w, names, allow_nan=allow_nan)
    return X, w


def check_present(
    name: str, X: np.ndarray, w: Any = None, names: Any = None, *, allow_nan: bool
) -> None:
    """Refuse infinity in rows that count, and NaN unless values may be missing."""
    if not allow_nan:
        check_finite(name, X, w, names=names)
        return
    infinite = np.isinf(X)
    if w is not None:
        infinite &= (w > 0)[:, None]
    if infinite.any():
        row, j = np.argwhere(infinite)[0]
        column = j if names is None else names[j]
        raise InputError(
            f"{name} contains infinity (row {row}, column {column}); remove the row, or "
            "give NaN where the value is missing."
        )


def centred(X: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The rows with mean 0 and mean square 1, what was subtracted, and divided by.

    Args:
        X: (n, d) rows.
        w: (n,) their weights.
    """
    shares = w / w.sum()
    middle = shares @ X
    middle = middle + shares @ (X - middle)
    Z = X - middle
    largest = np.abs(Z).max(initial=0.0)
    if not largest > 0:
        return Z, middle, 1.0
    Z /= largest
    spread = float(np.sqrt((shares @ Z**2).mean()))
    Z /= spread
    return Z, middle, float(spread * largest)


def start_numbers(seed: int, starts: int, k: int) -> np.ndarray:
    """(r, k, m) random numbers from 0 to 1, for r starts of m draws for each centre."""
    rng = np.random.default_rng(seed)
    return rng.random((starts, k, 2 + int(np.log(k))))


def default_starts(n_init: Any, n: int) -> int:
    """The number of starts that a setting means for n different rows."""
    if isinstance(n_init, str):
        if n_init != "auto":
            raise InputError(f'n_init is {n_init!r}; give a number, or "auto".')
        return MANY_STARTS if n <= FEW_ROWS else FEW_STARTS
    return at_least("n_init", n_init, 1, whole=True)


def standardisation(
    X: np.ndarray, w: np.ndarray, *, common: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(d,) means and (d,) standard deviations of columns; 1 for a constant column.

    Args:
        X: (n, d) rows; NaN is left out.
        w: (n,) their weights.
        common: whether all columns have the same scale.
    """
    there = ~np.isnan(X)
    weights = np.where(there, w[:, None], 0.0)
    total = np.maximum(weights.sum(0), 1e-300)
    filled = np.where(there, X, 0.0)
    middle = (weights / total * filled).sum(0)
    gaps = np.where(there, X - middle, 0.0)
    middle = middle + (weights / total * gaps).sum(0)
    gaps = np.where(there, X - middle, 0.0)
    largest = np.abs(gaps).max(0)
    size = np.where(largest > 0, largest, 1.0)
    scale = size * np.sqrt((weights / total * (gaps / size) ** 2).sum(0))
    rounding = np.abs(filled).max(0) * CONSTANT
    varies = scale > rounding
    if common and varies.any():
        scale = np.full(len(scale), np.sqrt((scale**2).mean()))
    else:
        scale = np.where(varies, scale, 1.0)
    return middle, scale
