"""How the kind of each column is told, in one pass over the chunks of a table."""

from typing import Any

import pyarrow as pa
from pyarrow import types

from likely.core.checks import InputError
from likely.data.columns import is_moments, is_nested, is_words
from likely.data.frames import weighted_chunks
from likely.data.schema import Column
from likely.data.summary import Booleans, Moments, Others, Summary
from likely.data.summary_numbers import Numbers
from likely.data.summary_words import Words


def _summary(name: str, kind: pa.DataType) -> Summary:
    if is_nested(kind):
        return Others(name)
    if is_words(kind):
        return Words(name, declared=types.is_dictionary(kind))
    if is_moments(kind):
        return Moments(name)
    return Booleans(name) if types.is_boolean(kind) else Numbers(name)


def infer_columns(frame: Any, sample_weight: Any = None) -> tuple[list[Column], int]:
    """The columns of a frame or file, and how many rows were looked at."""
    seen: dict[str, Summary] = {}
    rows = 0
    for chunk, _ in weighted_chunks(frame, sample_weight):
        rows += len(chunk)
        for name, values in zip(chunk.column_names, chunk.columns, strict=True):
            if name not in seen:
                seen[name] = _summary(name, values.type)
            seen[name].add(values)
    if not rows:
        raise InputError("the table has no rows; give at least one.")
    return [summary.column() for summary in seen.values()], rows
