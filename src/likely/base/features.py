"""Columns of inputs, by number or by name, of arrays and of frames."""

from typing import Any

import numpy as np

from likely.core.checks import InputError


def feature_names(X: Any, estimator: Any = None) -> list[str] | None:
    """The names of the columns of X: its own, or those that an estimator was fitted to."""
    names = getattr(X, "columns", None)
    names = getattr(estimator, "feature_names_in_", None) if names is None else names
    return None if names is None else [str(name) for name in names]


def feature_number(feature: Any, names: list[str] | None, d: int) -> int:
    """The number of a column that is given by its number or its name.

    Args:
        feature: the number or the name.
        names: of the columns, where they have names.
        d: how many columns there are.
    """
    if isinstance(feature, str):
        if names is None:
            raise InputError(
                f"the columns of X have no names, so there is no {feature!r}; give the "
                f"number of a column, 0 to {d - 1}, or a frame."
            )
        if feature not in names:
            listed = ", ".join(map(repr, names))
            raise InputError(f"X has no column {feature!r}; its columns are {listed}.")
        return names.index(feature)
    whole = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
    if not whole or not -d <= feature < d:
        raise InputError(
            f"X has no column {feature!r}; give a number, 0 to {d - 1}"
            + (f", or a name: {', '.join(map(repr, names))}." if names else ".")
        )
    return int(feature) % d


class Inputs:
    """Rows of an array or a frame, of which single columns can be replaced.

    Args:
        X: (n, d) an array, or a frame of any make and with columns of any type.
        estimator: whose names of columns an array has.
        rows: the numbers of the rows to keep; all where None.
    """

    def __init__(self, X: Any, estimator: Any = None, rows: np.ndarray | None = None):
        from sklearn.utils import _safe_indexing

        self.is_frame = hasattr(X, "columns")
        table: Any = X if self.is_frame else np.asarray(X, dtype=np.float64)
        self.table: Any = table if rows is None else _safe_indexing(table, rows)
        self.names = feature_names(X, estimator)
        self.shape = (len(self.table), int(table.shape[1]))

    def number(self, feature: Any) -> int:
        """The number of a column that is given by its number or its name."""
        return feature_number(feature, self.names, self.shape[1])

    def values(self, j: int) -> np.ndarray:
        """(n,) the values of a column: numbers as float64, anything else as it is."""
        if not self.is_frame:
            return self.table[:, j]
        import narwhals as nw

        column = nw.from_native(self.table)[:, j]
        numeric = column.dtype.is_numeric() or column.dtype == nw.Boolean
        found = column.to_numpy()
        return found.astype(np.float64) if numeric else found.astype(object)

    def replaced(self, j: int, values: Any) -> Any:
        """The table with a column replaced by one value, or by a value for each row."""
        values = np.broadcast_to(values, len(self.table))
        if not self.is_frame:
            found = self.table.copy()
            found[:, j] = values
            return found
        import narwhals as nw

        frame = nw.from_native(self.table)
        name, backend = frame.columns[j], frame.implementation
        column = nw.new_series(name, values.tolist(), backend=backend)
        if not column.dtype.is_numeric():
            column = column.cast(frame[name].dtype)
        return frame.with_columns(column).to_native()

    def shuffled(self, j: int, order: np.ndarray) -> Any:
        """The table with a column in another order."""
        if not self.is_frame:
            return self.replaced(j, self.table[order, j])
        import narwhals as nw

        frame = nw.from_native(self.table)
        return frame.with_columns(frame[:, j][order.tolist()]).to_native()
