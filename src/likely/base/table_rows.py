"""Rows of tables for models of whole rows: checked, and turned into codes and back."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from likely.base.rows import dense, weights_of
from likely.core.checks import InputError
from likely.preprocess import TableCodec


class CodedRows(NamedTuple):
    """The codes of rows that count, and their weights."""

    V: np.ndarray
    """(n, q) codes, NaN where a cell is missing."""
    w: np.ndarray
    present: np.ndarray
    """(N,) booleans: which of the rows that were given these are."""


def is_frame(X: Any) -> bool:
    """Whether X is a frame or a dictionary of columns, whose columns have names."""
    return isinstance(X, Mapping) or nw.dependencies.is_into_dataframe(X)


def check_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X with its number of columns and their names checked, or kept at the first call.

    Args:
        estimator: whose `n_features_in_` and `feature_names_in_` are set or compared.
        X: a frame, a dictionary of columns, or an array, which may hold words.
        reset: whether these rows decide what the columns are.
    """
    check: Any = validate_data
    X = dense(X)
    if isinstance(X, Mapping):
        names, known = list(X), list(getattr(estimator, "feature_names_in_", X))
        if not reset and names != known:
            raise InputError(f"the columns are {names}; the fit had {known}.")
        estimator.n_features_in_ = len(names)
        estimator.feature_names_in_ = np.array(names, object)
        return X
    words = not is_frame(X) and _holds_words(X)
    if is_frame(X) or words:
        X = np.asarray(X) if words else X
        check(estimator, X, reset=reset, skip_check_array=True)
        return X
    return check(
        estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
    )


def _holds_words(X: Any) -> bool:
    """Whether an array has cells that are text."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "OUS":
        return False
    return X.dtype.kind != "O" or any(isinstance(v, str) for v in X[:100].ravel())


def learn_codes(
    estimator: Any, X: Any, sample_weight: Any = None, **options: Any
) -> CodedRows:
    """The codes of the rows of a fit; the estimator gets its `codec_`.

    Args:
        estimator: the one that is fitted.
        X: rows, of which cells may be missing.
        sample_weight: how often each row counts.
        options: of `TableCodec.fit`.
    """
    X = check_table(estimator, X, reset=True)
    n = len(next(iter(X.values()))) if isinstance(X, Mapping) else len(X)
    w = weights_of(sample_weight, n)
    if (w > 0).sum() < 2:
        raise InputError(
            f"there is {int((w > 0).sum())} sample of positive weight; give two or more."
        )
    estimator.codec_ = TableCodec.fit(X, w, **options)
    present = w > 0
    rows = X if present.all() else take(X, np.flatnonzero(present))
    return CodedRows(estimator.codec_.encode(rows), w[present], present)


def codes_of(estimator: Any, X: Any) -> np.ndarray:
    """The codes of other rows."""
    check_is_fitted(estimator)
    return estimator.codec_.encode(check_table(estimator, X, reset=False))


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a table of any make."""
    if isinstance(X, Mapping):
        return {name: np.asarray(values)[rows] for name, values in X.items()}
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    return np.asarray(X)[rows]


def fill_missing(codec: TableCodec, X: Any, V: np.ndarray) -> Any:
    """The rows X with their missing cells taken from codes; all other cells as they are.

    Args:
        codec: of the fit.
        X: rows.
        V: (n, q) codes without NaN.
    """
    filled = codec.decode(V)
    if not is_frame(X):
        X = np.asarray(X)
        text = X.dtype.kind == "O"
        missing = np.array([[c is None or c != c for c in row] for row in X], bool) \
            if text else np.isnan(X.astype(np.float64))  # fmt: skip
        return np.where(missing, np.asarray(filled), X)
    if isinstance(X, Mapping):
        return {
            name: np.where(_missing(values), filled[name], values)
            if name in filled
            else values
            for name, values in X.items()
        }
    left, right = (nw.from_native(f, eager_only=True) for f in (X, filled))
    for name in right.columns:
        own, new = left[name], right[name]
        if (own.is_null() | _nan(own)).any():
            mask = own.is_null() | _nan(own)
            left = left.with_columns(new.zip_with(mask, own).alias(name))
    return left.to_native()


def _nan(column: Any) -> Any:
    """Which cells of a column are NaN."""
    if column.dtype.is_float():
        return column.is_nan().fill_null(False)
    return column.is_null()


def _missing(values: Any) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([v is None or v != v for v in values], bool)
