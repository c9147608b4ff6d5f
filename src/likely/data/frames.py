"""Frames of any make as Arrow tables: pandas, polars, Arrow, NumPy, dictionaries."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from pyarrow import types

from likely.core.checks import InputError, check_weights
from likely.data.columns import written
from likely.data.table_file import TableFile

ENCODED_TEXT = {b"likely": b"text"}
"""Metadata of a text column that was dictionary-encoded here, not by the user."""


def to_arrow(frame: Any, text: Collection[str] = ()) -> pa.Table:
    """A table with named columns, each name once.

    Columns of Python objects of several types become text; the columns of a NumPy array
    are called x0, x1, ...

    Args:
        frame: a pandas, polars or Arrow frame, a `TableFile`, a dictionary of columns,
            or a two-dimensional array.
        text: columns whose Python objects are text, also where they are of one type.

    Examples:
        >>> lk.data.to_arrow({"a": [1, 2], "b": ["x", "y"]}).column_names
        ['a', 'b']
    """
    if is_file(frame):
        return frame.read()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        columns = list(zip(frame.column_names, frame.columns, strict=True))
    elif isinstance(frame, Mapping):
        columns = [
            (str(name), _array(values, str(name) in text))
            for name, values in frame.items()
        ]
    elif nw.dependencies.is_into_dataframe(frame):
        columns = list(_native(frame, text))
    else:
        columns = list(_from_numpy(np.asarray(frame)))
    _check(columns)
    return frame if isinstance(frame, pa.Table) else pa.table(dict(columns))


def encode_text(table: pa.Table) -> pa.Table:
    """The table with its columns of text dictionary-encoded, for repeated passes.

    Their metadata distinguish them from categories that the user has declared.
    """
    for i, field in enumerate(table.schema):
        if types.is_string(field.type) or types.is_large_string(field.type):
            coded = table.column(i).dictionary_encode().unify_dictionaries()
            marked = pa.field(field.name, coded.type, metadata=ENCODED_TEXT)
            table = table.set_column(i, marked, coded.combine_chunks())
    return table


def is_file(frame: Any) -> bool:
    """Whether this is a table on disk; a frame may have columns of any name."""
    return isinstance(frame, TableFile) and not nw.dependencies.is_into_dataframe(frame)


def weighted_chunks(
    frame: Any, sample_weight: Any = None
) -> Iterator[tuple[pa.Table, np.ndarray]]:
    """Chunks of a file and their weights, without rows of weight 0; a frame is one chunk."""
    chunks = frame if is_file(frame) else [to_arrow(frame)]
    if sample_weight is None:
        yield from ((chunk, np.ones(len(chunk))) for chunk in chunks)
        return
    weights = np.asarray(sample_weight)
    weights = check_weights(weights, len(weights))
    start = 0
    for chunk in chunks:
        w = weights[start : start + len(chunk)]
        start += len(chunk)
        if start > len(weights):
            break
        if not (w > 0).all():
            chunk, w = chunk.filter(pa.array(w > 0)), w[w > 0]
        yield chunk, w
    if start != len(weights):
        raise InputError(
            f"sample_weight has {len(weights)} entries, which is not the number of "
            "rows; give one weight for each row."
        )


def _native(frame: Any, text: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """The columns of a pandas or polars frame, without the index of pandas."""
    try:
        found = nw.from_native(frame, eager_only=True)
        names = found.columns
    except (ValueError, TypeError) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"the frame cannot be read: {reason}.") from error
    for name in names:
        column = found.get_column(name)
        if column.dtype == nw.Object and str(name) in text:
            yield str(name), _array(column.to_numpy(), text=True)
            continue
        try:
            yield str(name), column.to_arrow()
        except (pa.ArrowException, TypeError, ValueError):
            yield str(name), _array(column.to_numpy())


def _from_numpy(rows: np.ndarray) -> Iterator[tuple[str, pa.Array]]:
    if rows.ndim != 2:
        raise InputError(
            f"a table needs rows and columns; got an array of shape {rows.shape}. "
            "Give a frame, a dictionary of columns or a two-dimensional array."
        )
    return ((f"x{j}", _array(rows[:, j])) for j in range(rows.shape[1]))


def _array(values: Any, text: bool = False) -> Any:
    """Values as Arrow; objects of several types as text, None and NaN as missing."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    values = np.ascontiguousarray(values)
    if text and values.dtype == object:
        return pa.array([_text(value) for value in values], pa.string())
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return _objects(values)


def _objects(values: np.ndarray) -> pa.Array:
    """Python objects of several types: numbers where all are, otherwise text."""
    found = [None if _is_missing(value) else value for value in values]
    if any(_is_number(value) for value in found):  # beside numbers, True is 1
        found = [int(v) if isinstance(v, bool | np.bool) else v for v in found]
    if all(value is None or _is_number(value) for value in found):
        return pa.array([None if v is None else float(str(v)) for v in found])
    return pa.array([_text(value) for value in found], pa.string())


def _text(value: Any) -> str | None:
    """A value as text, equal numbers as the same text; None where it is missing."""
    if _is_missing(value):
        return None
    if isinstance(value, bool | np.bool):
        return str(value).lower()
    if _is_number(value):
        return written(value if isinstance(value, int | float) else float(str(value)))
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real | np.generic) and bool(value != value)


def _check(columns: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in columns]
    if not names:
        raise InputError("the table has no columns; give at least one.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} appears more than once; rename it.")
    lengths = {len(values) for _, values in columns}
    if len(lengths) > 1:
        raise InputError(f"the columns have different lengths: {sorted(lengths)}.")
