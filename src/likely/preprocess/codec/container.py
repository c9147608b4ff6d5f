"""The container that a table came in, and new rows in a container of the same make."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute

from likely.data.columns import is_text, is_timestamps

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@dataclasses.dataclass(frozen=True)
class Container:
    """What a table is: an array, a dictionary of columns, or a frame of some library."""

    make: str
    """"array", "dict", "arrow", or the library of a frame: "pandas", "polars"."""
    names: tuple[str, ...]
    """The names of all columns, as text."""
    types: tuple[str, ...]
    """Their types in Arrow."""
    dtypes: tuple[str, ...] = ()
    """Their types in pandas, or the one type of an array."""

    @classmethod
    def of(cls, X: Any, table: pa.Table) -> "Container":
        """Of a table that was turned into Arrow."""
        types = tuple(str(field.type) for field in table.schema)
        names = tuple(table.column_names)
        if isinstance(X, pa.Table | pa.RecordBatch):
            return cls("arrow", names, types)
        if isinstance(X, Mapping):
            return cls("dict", names, types)
        if nw.dependencies.is_into_dataframe(X):
            make = nw.from_native(X, eager_only=True).implementation.value
            dtypes = tuple(map(str, X.dtypes)) if make == "pandas" else ()
            return cls(make, names, types, dtypes)
        return cls("array", names, types, (str(np.asarray(X).dtype),))

    def build(
        self, columns: Mapping[str, np.ndarray], levels: Mapping[str, tuple[str, ...]]
    ) -> Any:
        """New rows, from the values of the columns that there are.

        Args:
            columns: numbers (NaN where missing), datetime64 (NaT), or objects (None).
            levels: of the columns that hold words.
        """
        if self.make == "array":
            return self._array(columns)
        kinds = dict(zip(self.names, self.types, strict=True))
        table = {
            name: as_arrow(columns[name], arrow_type(kinds[name]), levels.get(name, ()))
            for name in self.names
            if name in columns
        }
        if self.make == "dict":
            return {name: values.to_numpy(False) for name, values in table.items()}
        found = pa.table(table)
        if self.make in ("arrow", "pyarrow"):
            return found
        backend: Any = self.make
        native: Any = nw.from_arrow(found, backend=backend).to_native()
        if self.make == "pandas":
            return self._as_pandas(native)
        return native

    def _array(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        n = len(next(iter(columns.values())))
        absent = np.full(n, np.nan)
        rows = [columns.get(name, absent) for name in self.names]
        dtype = np.dtype(self.dtypes[0])
        if any(r.dtype.kind in "OM" for r in rows) or dtype.kind in "OUSM":
            found = np.empty((n, len(rows)), object)
            for j, r in enumerate(rows):
                found[:, j] = r
            return found.astype(dtype) if dtype.kind in "US" else found
        found = np.column_stack(rows).astype(np.float64)
        whole = dtype.kind in "iub"
        return found if whole and np.isnan(found).any() else found.astype(dtype)

    def _as_pandas(self, frame: Any) -> Any:
        for name, dtype in zip(self.names, self.dtypes, strict=True):
            if name not in frame or str(frame[name].dtype) == dtype:
                continue
            try:
                frame[name] = frame[name].astype(dtype)
            except (TypeError, ValueError):  # whole numbers of which some are missing
                continue
        return frame


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type that is written so."""
    if text.startswith("dictionary"):
        return DICTIONARY
    stamp = re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=(.+)\]", text)
    if stamp:
        return pa.timestamp(stamp[1], tz=stamp[2])
    try:
        return pa.type_for_alias(text)
    except ValueError:
        return pa.float64()


def as_arrow(
    values: np.ndarray, kind: pa.DataType, levels: tuple[str, ...] = ()
) -> pa.Array:
    """Values as an Arrow array of a type, as far as they can be.

    Args:
        values: numbers, dates, or words.
        kind: the type.
        levels: all words that there are, for a type that lists them.
    """
    values = np.asarray(values)
    if values.dtype.kind == "O":
        found = pa.array(values, pa.string())
        if kind == DICTIONARY:
            codes = pc.index_in(found, pa.array(levels, pa.string()))
            return pa.DictionaryArray.from_arrays(codes, pa.array(levels, pa.string()))
        if is_text(kind):
            return found if kind == found.type else pc.cast(found, kind)
        return _parsed(found, kind)
    found = pa.array(values, from_pandas=True)
    if values.dtype.kind == "M":
        return _as_dates(found, kind)
    try:
        return pc.cast(found, kind, safe=False)
    except pa.ArrowException:  # numbers that were written as text
        return found


def _as_dates(found: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_timestamps(kind):
        if getattr(kind, "tz", None):
            found = pc.assume_timezone(found, "UTC")
        return pc.cast(found, kind, safe=False)
    days = pc.cast(pc.cast(found, pa.date32(), safe=False), found.type)
    form = "%Y-%m-%d" if pc.all(pc.equal(days, found)).as_py() else "%Y-%m-%dT%H:%M:%S"
    return pc.strftime(found, format=form)


def _parsed(words: pa.Array, kind: pa.DataType) -> pa.Array:
    """Numbers or truth values that are written as words."""
    if kind == pa.bool_():
        true = pc.is_in(words, pa.array(["true", "1"]))
        return pc.if_else(pc.is_null(words), pa.scalar(None, pa.bool_()), true)
    try:
        return pc.cast(pc.cast(words, pa.float64()), kind, safe=False)
    except pa.ArrowException:
        return words
