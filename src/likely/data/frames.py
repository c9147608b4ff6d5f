"""Frames of any make as Arrow tables: pandas, polars, Arrow, NumPy, dictionaries."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from pyarrow import types

from likely.core.checks import InputError, check_weights
from likely.data.table_file import TableFile

ENCODED_TEXT = {b"likely": b"text"}
"""Metadata of a text column that was dictionary-encoded here, not by the user."""


def to_arrow(frame: Any) -> pa.Table:
    """A table with named columns, each name once.

    Columns of Python objects of several types become text; the columns of a NumPy array
    are called x0, x1, ...

    Args:
        frame: a pandas, polars or Arrow frame, a `TableFile`, a dictionary of columns,
            or a two-dimensional array.
    """
    if is_file(frame):
        return frame.read()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        columns = list(zip(frame.column_names, frame.columns, strict=True))
    elif isinstance(frame, Mapping):
        columns = [(str(name), _array(values)) for name, values in frame.items()]
    elif nw.dependencies.is_into_dataframe(frame):
        columns = list(_native(frame))
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


def _native(frame: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a pandas or polars frame, without the index of pandas."""
    try:
        found = nw.from_native(frame, eager_only=True)
        names = found.columns
    except (ValueError, TypeError) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"the frame cannot be read: {reason}.") from error
    for name in names:
        column = found.get_column(name)
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


def _array(values: Any) -> Any:
    """Values as Arrow; objects of several types as text, None and NaN as missing."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    values = np.ascontiguousarray(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([_text(value) for value in values])


def _text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)


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
