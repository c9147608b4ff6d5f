"""Rows of a factor model: checked, present, equal ones merged where folds are made."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from likely.base.rows import Rows, dense, weights_of
from likely.core.checks import InputError, check_finite


def checked_rows(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    allow_nan: bool = False,
    keep_sparse: bool = False,
    reset: bool = True,
    minimum: int = 2,
) -> Rows:
    """The rows of positive weight, as float64, with their weights.

    Args:
        estimator: whose `n_features_in_` and `feature_names_in_` are set or compared.
        X: (n, d) rows.
        sample_weight: how often each row counts, or None.
        allow_nan: whether values may be missing (NaN).
        keep_sparse: whether a sparse matrix stays one.
        reset: whether these rows decide what the columns are.
        minimum: the smallest number of rows that is enough.
    """
    X = X if keep_sparse and issparse(X) else dense(X)
    check: Any = validate_data
    options = {"reset": reset, "dtype": np.float64, "ensure_all_finite": False}
    X = check(estimator, X, accept_sparse="csr" if keep_sparse else False, **options)
    w = weights_of(sample_weight, X.shape[0])
    if not (w > 0).all():
        X, w = X[w > 0], w[w > 0]
    if allow_nan:
        _check_missing(estimator, X)
    else:
        names = getattr(estimator, "feature_names_in_", None)
        check_finite("X", X.data[None].T if issparse(X) else X, names=names)
    if X.shape[0] < minimum or (minimum > 1 and w.sum() <= 1):
        raise InputError(
            f"{type(estimator).__name__} needs at least {minimum} rows; X has "
            f"{X.shape[0]} sample{'s' * (X.shape[0] != 1)} of positive weight, of weight "
            f"{w.sum():g} in all (weights say how often a row counts)."
        )
    return Rows(X, None, w)


def _check_missing(estimator: Any, X: np.ndarray) -> None:
    """Refuse infinity, and columns without any value."""
    names = getattr(estimator, "feature_names_in_", None)
    if np.isfinite(np.ones(len(X)) @ X).all():
        return
    if np.isinf(X).any():
        row, column = np.argwhere(np.isinf(X))[0]
        raise InputError(
            f"X contains infinity (row {row}, column "
            f"{column if names is None else names[column]}); remove such rows, or mark "
            "the value as missing (NaN)."
        )
    empty = np.flatnonzero(np.isnan(X).all(0))
    if empty.size:
        name = empty[0] if names is None else names[empty[0]]
        raise InputError(
            f"column {name} of X has no value at all, so nothing can be said about it; "
            "leave the column out."
        )


def distinct_rows(
    X: Float[np.ndarray, "n d"], w: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
    """The different rows in an order of their own, and how often each occurs.

    Folds and resamples of these do not depend on the order of rows, nor on whether a row
    stands there twice or has weight 2; and equal rows are in the same fold.
    """
    X = np.ascontiguousarray(X) + 0.0  # -0 is 0
    bits = X.view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    _, first, number = np.unique(bits, return_index=True, return_inverse=True)
    return X[first], np.bincount(number.ravel(), w, minlength=len(first))
