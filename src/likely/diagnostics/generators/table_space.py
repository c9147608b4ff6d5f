"""Rows of tables as numbers in which distances between rows make sense."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from likely.base.rows import dense
from likely.base.table_rows import is_frame
from likely.core.checks import InputError
from likely.data.columns import as_numbers
from likely.data.frames import to_arrow
from likely.preprocess import TableCodec
from likely.preprocess.codec.column_code import ColumnCode


@dataclass(frozen=True)
class TableSpace:
    """The codes of several tables with the same columns, and features made of them.

    Numbers are scaled, positive ones by a logarithm where that suits; levels have a column
    each; missing cells have flags. Generated rows may hold numbers that no real row could
    have, such as a negative count: their codes keep them, features have the nearest number
    that is possible.
    """

    codec: TableCodec

    @classmethod
    def of(cls, *tables: Any) -> "TableSpace":
        """A space that knows all values of these tables.

        Args:
            tables: frames of any make, dictionaries of columns, or arrays.
        """
        if any(is_frame(table) for table in tables):
            return cls(TableCodec.fit(stacked(*tables)))
        arrays = [flat(table) for table in tables]
        if len({a.shape[1:] for a in arrays}) > 1:
            shapes = " and ".join(str(a.shape) for a in arrays)
            raise InputError(f"the tables have shapes {shapes}; give the same columns.")
        return cls(TableCodec.fit(np.concatenate(arrays)))

    def codes(self, X: Any) -> np.ndarray:
        """(n, q) a number for each cell that varies, NaN where it is missing.

        Args:
            X: rows.
        """
        return self._codes(X)[0]

    def features(self, X: Any, missing: np.ndarray | None = None) -> np.ndarray:
        """(n, d) numbers without NaN.

        Args:
            X: rows.
            missing: (n, q) cells that are to be seen as missing.
        """
        V = self._codes(X)[1]
        V = V if missing is None else np.where(missing, np.nan, V)
        F = np.asarray(self.codec.inputs(V), np.float64)
        if not np.isfinite(F).all():
            raise InputError("some rows have numbers that are not finite.")
        return F

    def _codes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The codes of cells as they are, and of the nearest cells that are possible."""
        table = plain(X)
        unknown = [c for c in self.codec.names if c not in table.column_names]
        if unknown:
            raise InputError(f"the rows have no column {unknown[0]!r}.")
        raw = {}
        for j, column in enumerate(self.codec.columns):
            if column.read != "number":
                continue
            x = as_numbers(table[column.name], column.name)
            place = table.column_names.index(column.name)
            table = table.set_column(place, column.name, pa.array(_possible(column, x)))
            if column.kind in ("count", "whole"):
                raw[j] = column.encoded(x)
        near = self.codec.encode(table)
        own = near.copy()
        for j, v in raw.items():
            own[:, j] = v
        return own, near


def _possible(column: ColumnCode, x: np.ndarray) -> np.ndarray:
    """The nearest numbers that cells of a column can have; NaN where x is."""
    if column.kind == "positive":
        return np.maximum(x, column.low / 2)
    if column.kind == "category":
        levels = np.array(column.levels, float)
        nearest = np.abs(np.where(np.isnan(x), 0.0, x)[:, None] - levels).argmin(1)
        return np.where(np.isnan(x), np.nan, levels[nearest])
    if column.kind == "count":
        return np.maximum(np.round(x), 0.0)
    return np.round(x) if column.kind == "whole" else x


def flat(X: Any) -> np.ndarray:
    """An array with a row for each image, if there are images."""
    X = np.asarray(dense(X))
    return X.reshape(len(X), -1) if X.ndim > 2 else X


def plain(X: Any) -> pa.Table:
    """A table of any make as Arrow, without dictionaries; images as rows of pixels."""
    table = to_arrow(X if is_frame(X) else flat(X))
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            values = table.column(i).cast(field.type.value_type)
            table = table.set_column(i, field.name, values)
    return table


def stacked(*tables: Any) -> pa.Table:
    """The rows of several tables with the same columns, one table after the other."""
    found = [plain(table) for table in tables]
    names = found[0].column_names
    for other in found[1:]:
        if set(other.column_names) != set(names):
            odd = sorted(set(other.column_names) ^ set(names))[0]
            raise InputError(f"the column {odd!r} is in some of the tables only.")
    try:
        return pa.concat_tables(
            [t.select(names) for t in found], promote_options="permissive"
        )
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"the tables have columns of other kinds: {reason}.") from None


def row_count(X: Any) -> int:
    """How many rows a table of any make has."""
    return len(next(iter(X.values()))) if isinstance(X, Mapping) else len(X)
