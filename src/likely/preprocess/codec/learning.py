"""What a codec learns from a table: which columns it has, and the code of each."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

from likely.core.checks import InputError, suggestion
from likely.data.columns import as_levels, as_numbers, as_timestamps, is_text
from likely.data.new_rows import readings_of, with_readings
from likely.data.schema import KINDS, Column, Schema
from likely.preprocess.codec.choice import (
    Choice,
    continuous_choice,
    count_scale,
    few_levels,
    number_choice,
)
from likely.preprocess.codec.column_code import CODES, ColumnCode
from likely.preprocess.codec.positive import positive_scale, scale_by
from likely.preprocess.levels import in_order

DAY = np.timedelta64(1, "D")
MAX_SIZE = 1e150
"""The largest number whose square is surely finite."""
EPOCH = np.datetime64(0, "us")
SCHEMA_KIND = {
    "number": "number",
    "positive": "number",
    "whole": "number",
    "count": "number",
    "category": "category",
}
"""The kind in a schema of each kind of code."""


class Learned(NamedTuple):
    """The columns of a table: those that vary, those that do not, those left out."""

    schema: Schema
    columns: tuple[ColumnCode, ...]
    constants: tuple[ColumnCode, ...]
    dropped: tuple[str, ...]


def learn(
    table: pa.Table,
    w: np.ndarray,
    kinds: Mapping[str, str],
    *,
    counts: bool,
    array: bool,
) -> Learned:
    """The code of each column, from rows that all have weight.

    Args:
        table: the rows.
        w: (n,) their weights.
        kinds: kinds of some columns, of a schema or of `CODES`.
        counts: whether there is a kind for counts.
        array: whether the columns come from an array, which has no identifiers.
    """
    known = dict.fromkeys((*KINDS, *CODES))
    for name, kind in kinds.items():
        if kind not in known:
            near = suggestion(kind, list(known), "the kinds are")
            raise InputError(f"column {name!r} cannot be {kind!r}; {near}")
    schema = Schema.infer(
        table, kinds={k: SCHEMA_KIND.get(v, v) for k, v in kinds.items()}
    )
    schema = _as_read(schema, table, array=array)
    columns, constants, dropped = [], [], []
    for column in schema:
        if column.identifier or column.kind == "text":
            dropped.append(column.name)
            continue
        asked = kinds.get(column.name)
        code = _code(column, table[column.name], w, asked, counts=counts)
        if code is None:
            dropped.append(column.name)
        elif code.kind == "constant":
            constants.append(code)
        else:
            columns.append(code)
    if not columns:
        why = "; ".join(f"{c.name!r} {c.kind}: {c.reason}" for c in schema)
        raise InputError(
            f"no column of the table varies and can be modelled ({why}); give other "
            "columns, or set kinds=."
        )
    return Learned(schema, tuple(columns), tuple(constants), tuple(dropped))


def _as_read(schema: Schema, table: pa.Table, *, array: bool) -> Schema:
    """The schema with how new rows are read; words for truth values stay words."""
    found = []
    for column in schema:
        if array:
            column = dataclasses.replace(column, identifier=False)
        if column.kind == "boolean" and is_text(table[column.name].type):
            column = dataclasses.replace(column, kind="category")
        found.append(dataclasses.replace(column, constant=False))
    schema = dataclasses.replace(schema, columns=tuple(found))
    return with_readings(schema, table, readings_of(table))


def _code(
    column: Column, values: Any, w: np.ndarray, asked: str | None, *, counts: bool
) -> ColumnCode | None:
    """The code of a column; None where it has no value at all."""
    name, kind = column.name, column.kind
    if kind in ("code", "category"):
        return _level_code(name, values)
    x = read_numbers(values, name, kind)
    here = ~np.isnan(x)
    if not here.any():
        return None
    read = "date" if kind == "date" else "number"
    present, weights = x[here], w[here]
    low, high = float(present.min()), float(present.max())
    if max(-low, high) > MAX_SIZE:
        raise InputError(
            f"column {name!r} has numbers as large as {max(-low, high):.0e}, whose squares "
            "are not finite; give them in larger units."
        )
    rounded = bool((present == np.round(present)).all())
    also = {"rounded": rounded, "incomplete": not here.all(), "low": low, "high": high}
    if low == high:
        return ColumnCode(name, "constant", read, low, **also)
    if kind == "boolean" and asked in (None, "boolean"):
        choice = few_levels(0.0, 1.0)
    elif asked in CODES:
        choice = _asked(asked, present, weights, name)
    else:
        choice = number_choice(present, weights, counts=counts and read == "number")
    scale = choice.scale
    code = ColumnCode(
        name, choice.kind, read, scale.center, scale.scale, scale.softness,
        choice.levels, **also,
    )  # fmt: skip
    if choice.kind in ("number", "positive"):
        gaps = np.diff(np.unique(code.encoded(present)))
        code = dataclasses.replace(code, resolution=float(gaps.min()))
    return code


def _asked(asked: str, x: np.ndarray, w: np.ndarray, name: str) -> Choice:
    """The kind that the user asked for, where the numbers allow it."""
    whole = bool((x == np.round(x)).all())
    bad = {
        "positive": (x.min() <= 0, "numbers that are not above 0"),
        "whole": (not whole, "numbers with fractions"),
        "count": (not whole or x.min() < 0, "numbers that are no counts"),
    }
    refused, why = bad.get(asked, (False, ""))
    if refused:
        raise InputError(f"column {name!r} cannot be {asked!r}: it has {why}.")
    if asked == "count":
        return Choice("count", count_scale(x, w))
    if asked == "positive":
        return Choice("positive", positive_scale(x, w))
    if asked == "whole":
        return Choice("whole", scale_by(x, w, None))
    return continuous_choice(x, w)


def _level_code(name: str, values: Any) -> ColumnCode | None:
    levels = as_levels(values, name)
    missing = bool((levels.codes < 0).any())
    declared = types.is_dictionary(values.type)
    seen = np.unique(levels.codes[levels.codes >= 0])
    categories = [levels.categories[k] for k in seen]
    if not categories:
        return None
    if declared:
        categories = list(levels.categories)
    if len(categories) == 1:
        levels = tuple(categories)
        return ColumnCode(name, "constant", "levels", levels=levels, incomplete=missing)
    ordered = tuple(categories if declared else in_order(categories))
    return ColumnCode(name, "category", "levels", levels=ordered, incomplete=missing)


def read_numbers(values: Any, name: str, kind: str) -> np.ndarray:
    """(n,) the numbers of a column, dates in days since 1970; NaN where missing."""
    if kind == "date":
        times = as_timestamps(values, name)
        days = (times - EPOCH) / DAY
        return np.where(np.isnat(times), np.nan, days)
    x = as_numbers(values, name)
    infinite = np.isinf(x)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise InputError(f"column {name!r} contains infinity (row {row}).")
    return x
