"""Inference of the kind of each column, in one pass over the chunks of a table."""

from typing import Any

import pyarrow as pa
from pyarrow import types

from likely.core.checks import InputError
from likely.data.columns import is_nested, is_text, is_timestamps
from likely.data.frames import ENCODED_TEXT, weighted_chunks
from likely.data.schema import Column
from likely.data.summary import Booleans, Dates, Others, Summary
from likely.data.summary_numbers import Numbers
from likely.data.summary_text import Text


def _summary(field: pa.Field) -> Summary:
    name, kind = field.name, field.type
    if is_nested(kind):
        return Others(name)
    if is_text(kind):
        declared = types.is_dictionary(kind) and field.metadata != ENCODED_TEXT
        return Text(name, declared)
    if is_timestamps(kind):
        return Dates(name)
    return Booleans(name) if types.is_boolean(kind) else Numbers(name)


def infer_columns(frame: Any, sample_weight: Any = None) -> tuple[list[Column], int]:
    """The columns of a frame or file, and how many rows were inspected."""
    seen: dict[str, Summary] = {}
    rows = 0
    for chunk, _ in weighted_chunks(frame, sample_weight):
        rows += len(chunk)
        for field, values in zip(chunk.schema, chunk.columns, strict=True):
            if field.name not in seen:
                seen[field.name] = _summary(field)
            seen[field.name].add(values)
    if not rows:
        raise InputError("the table has no rows; give at least one.")
    return [summary.column() for summary in seen.values()], rows
