"""Schemas from JSON: only what `Schema.to_json` can have written."""

import dataclasses
import json
import math
from typing import Any

from likely.core.checks import InputError
from likely.data.cells import is_reading
from likely.data.schema import KINDS, VERSION, Column, Schema


def parse_schema(text: str) -> Schema:
    """The schema in a JSON text.

    Raises:
        InputError: when the text is not a schema of this version.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the schema is not valid JSON ({error}).") from error
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise InputError(f"this is not a schema of version {VERSION}; save it again.")
    _need(set(content) == {"version", "columns", "rows", "notes"}, "its parts")
    rows, notes, columns = content["rows"], content["notes"], content["columns"]
    _need(_is_count(rows), "rows")
    _need(_is_texts(notes), "notes")
    _need(isinstance(columns, list), "columns")
    found = tuple(_column(entry) for entry in columns)
    _need(len({column.name for column in found}) == len(found), "columns")
    return Schema(found, rows, tuple(notes))


def _column(entry: Any) -> Column:
    fields = {field.name for field in dataclasses.fields(Column)}
    _need(isinstance(entry, dict), "columns")
    entry = {"reading": "", **entry}  # which older schemas do not have
    _need(set(entry) == fields, "columns")
    name = entry["name"]
    _need(isinstance(name, str) and isinstance(entry["reason"], str), "names")
    _need(entry["kind"] in KINDS, f"the kind of column {name!r}")
    reading = entry["reading"]
    good = isinstance(reading, str) and (not reading or is_reading(reading))
    _need(good, f"the reading of column {name!r}")
    flags = entry["constant"], entry["identifier"]
    _need(all(isinstance(flag, bool) for flag in flags), f"column {name!r}")
    counted = entry["distinct"] is None or _is_count(entry["distinct"])
    _need(counted and _is_count(entry["missing"]), f"the counts of column {name!r}")
    _need(all(map(_is_end, (entry["low"], entry["high"]))), f"column {name!r}")
    _need(_is_texts(entry["examples"]), f"the examples of column {name!r}")
    return Column(**{**entry, "examples": tuple(entry["examples"])})


def _need(good: bool, part: str) -> None:
    if not good:
        raise InputError(f"the schema is damaged: {part}; save it again.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _is_end(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return math.isfinite(value)
    return value is None or isinstance(value, str)
