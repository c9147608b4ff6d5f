"""Checks of numeric input: rows as an array of float64, and their weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from likely.core.checks import InputError, check_weights
from likely.data.frames import to_arrow


def row_weights(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) checked weights; 1 for each row where none are given."""
    if sample_weight is None:
        return np.ones(n)
    return check_weights(np.asarray(sample_weight), n)


def table_columns(
    transformer: Any, X: Any, read: Callable[[Any, str], Any], *, reset: bool
) -> list:
    """The columns of a frame or array, read one by one; checked against those of `fit`.

    Args:
        transformer: whose names of columns are set or compared.
        X: a frame or an array.
        read: a function of a column and its name.
        reset: whether these rows decide what the columns are.
    """
    validate_data(transformer, X, skip_check_array=True, reset=reset)
    table = to_arrow(X)
    return [*map(read, table.columns, table.column_names)]


def training_rows(
    transformer: Any, X: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The rows to learn from and their weights; rows of weight 0 are left out.

    NaN may stand for a missing value; infinity is refused.
    """
    X = np.asarray(
        validate_data(transformer, X, dtype=np.float64, ensure_all_finite=False)
    )
    w = row_weights(sample_weight, len(X))
    X, w = X[w > 0], w[w > 0]
    infinite = np.argwhere(np.isinf(X))
    if len(infinite):
        row, column = infinite[0]
        names = getattr(transformer, "feature_names_in_", None)
        name = column if names is None else repr(names[column])
        raise InputError(
            f"X contains infinity (column {name}, the {row + 1}. row with weight); "
            "give NaN for what is missing."
        )
    return X, w


def new_rows(transformer: Any, X: Any) -> np.ndarray:
    """The rows to transform; they must have the columns that were seen in `fit`."""
    return np.asarray(
        validate_data(
            transformer, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
    )
