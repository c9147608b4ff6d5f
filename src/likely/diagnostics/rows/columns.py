"""The columns of a table of any make, as numbers or as levels."""

from typing import Any, NamedTuple

import numpy as np

from likely.base.rows import dense
from likely.core.checks import InputError


class ColumnValues(NamedTuple):
    """A column: numbers, or the codes of its levels."""

    name: str
    values: np.ndarray
    """(n,) numbers, NaN where one is missing; or codes as whole numbers, −1 if missing."""
    levels: tuple[str, ...] | None = None
    """The words that codes stand for; None for a column of numbers."""

    @property
    def missing(self) -> np.ndarray:
        """(n,) booleans: where there is no value."""
        return np.isnan(self.values) if self.levels is None else self.values < 0

    @property
    def codes(self) -> np.ndarray:
        """(n,) the rank of each value among the different ones, −1 where it is missing."""
        if self.levels is not None:
            return self.values
        found = np.full(len(self.values), -1)
        here = ~self.missing
        found[here] = np.unique(self.values[here], return_inverse=True)[1]
        return found

    def take(self, rows: Any) -> "ColumnValues":
        """Some rows of it."""
        return self._replace(values=self.values[rows])


def columns_of(X: Any, names: Any = None) -> list[ColumnValues]:
    """The columns of an array or a frame; dates count as numbers, lists are left out.

    Args:
        X: (n, d) an array, a sparse matrix, or a frame of any make.
        names: of the columns of an array; x0, x1, ... by default.
    """
    X = dense(X)
    if hasattr(X, "dtype") and np.dtype(X.dtype).kind in "biuf":
        X = np.asarray(X, np.float64)
        if X.ndim != 2:
            raise InputError(f"X has shape {X.shape}; give rows and columns.")
        known = [f"x{j}" for j in range(X.shape[1])] if names is None else names
        return [
            ColumnValues(str(n), np.where(np.isfinite(x), x, np.nan))
            for n, x in zip(known, X.T, strict=True)
        ]
    return _columns_of_frame(X, names)


def _columns_of_frame(X: Any, names: Any) -> list[ColumnValues]:
    from likely.data.columns import (  # they load Arrow
        as_levels,
        as_numbers,
        as_timestamps,
        is_nested,
        is_text,
        is_timestamps,
    )
    from likely.data.frames import to_arrow

    table = to_arrow(X)
    if names is None or len(names) != table.num_columns:
        names = table.column_names
    found = []
    for name, column in zip(map(str, names), table.columns, strict=True):
        if is_nested(column.type):
            continue
        if is_text(column.type):
            codes, levels = as_levels(column, name)
            found.append(ColumnValues(name, codes.astype(int), tuple(levels)))
            continue
        if is_timestamps(column.type):
            times = as_timestamps(column, name)
            days = times.astype("datetime64[us]").astype(np.int64) / 86_400e6
            found.append(ColumnValues(name, np.where(np.isnat(times), np.nan, days)))
            continue
        values = as_numbers(column, name)
        values = np.where(np.isfinite(values), values, np.nan)
        found.append(ColumnValues(name, values))
    return found


def paired_columns(A: Any, B: Any) -> list[tuple[ColumnValues, ColumnValues]]:
    """The columns of two tables side by side, with the same codes for the same words."""
    left, right = columns_of(A), columns_of(B)
    known = {column.name: column for column in right}
    lacking = [c.name for c in left if c.name not in known]
    lacking += [c.name for c in right if c.name not in {a.name for a in left}]
    if lacking:
        raise InputError(
            f"the column {lacking[0]!r} is in one of the tables only; give two tables with "
            "the same columns."
        )
    pairs = []
    for a in left:
        b = known[a.name]
        if (a.levels is None) != (b.levels is None):
            raise InputError(
                f"the column {a.name!r} holds words in one table and numbers in the other."
            )
        pairs.append((a, b if a.levels is None else _recoded(b, a)))
    return [(a._replace(levels=b.levels), b) for a, b in pairs]


def _recoded(b: ColumnValues, a: ColumnValues) -> ColumnValues:
    """b in the codes of a, with new codes for new words."""
    place = {word: code for code, word in enumerate(a.levels or ())}
    for word in b.levels or ():
        place.setdefault(word, len(place))
    codes = np.array([*(place[word] for word in b.levels or ()), -1])
    return ColumnValues(b.name, codes[b.values], tuple(place))


def as_matrix(columns: list[ColumnValues]) -> tuple[np.ndarray, list[int]]:
    """(n, d) numbers with NaN for what is missing, and which columns are codes."""
    X = np.stack([np.where(c.missing, np.nan, c.values) for c in columns], axis=1)
    return X, [j for j, c in enumerate(columns) if c.levels is not None]
