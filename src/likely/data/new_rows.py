"""New rows, read as the rows were that a schema was learned from.

The type of a column in a new file says little: a column that held F and M may now hold F
alone, which looks like a truth value, and 03/10 alone is a day in March or in October. So
every cell is read by the reading that the schema keeps, whatever stands in other rows, and
a cell that cannot be read so is named. A prediction then depends on its own row only.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types

from likely.core.checks import InputError
from likely.data.cells import convert, first_misfit
from likely.data.columns import fitting, is_text, is_timestamps, written
from likely.data.errors import Misfit
from likely.data.frames import to_arrow
from likely.data.readings.forms import Form, parse_form
from likely.data.schema import Column, Schema, unknown_column
from likely.data.table_file import TableFile, open_table
from likely.data.text_table import TextTable

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
FIRST = {"number": "number", "boolean": "number", "date": "date iso"}
"""The readings that are tried first where a column of text has one of these kinds."""
TRUE = ("true", "yes", "t", "y", "1", "1.0")
FALSE = ("false", "no", "f", "n", "0", "0.0")


def with_readings(
    schema: Schema, frame: pa.Table, readings: Mapping[str, str]
) -> Schema:
    """The schema with how its columns are read, those of text as their kind needs it."""
    found = dict(readings)
    for column in schema:
        if column.kind in FIRST and is_text(frame[column.name].type):
            cells = frame[column.name]
            found[column.name] = fitting(cells, column.name, FIRST[column.kind])
    return schema.with_readings(found)


def readings_of(frame: pa.Table, file: TableFile | None = None) -> dict[str, str]:
    """How the columns of a table were read: from a text file, or by their types.

    Args:
        frame: the table.
        file: the file that it was read from, if there is one.
    """
    if isinstance(file, TextTable):
        found = file.readings()
        plain = _plain_form(found)
        return {k: plain if v in {"integer", "number"} else v for k, v in found.items()}
    return {field.name: _reading(field.type) for field in frame.schema}


def _plain_form(readings: Mapping[str, str]) -> str:
    """How plain numbers of a file are read: other rows may have fractions, or thousands."""
    forms = [form for name in readings.values() if (form := parse_form(name))]
    signs = {(form.decimal, form.group) for form in forms} - {(".", "")}
    if "number" in readings.values():
        signs = {sign for sign in signs if sign[0] == "."}
    decimals, groups = ({sign[i] for sign in signs} - {""} for i in (0, 1))
    if len(decimals) != 1 or len(groups) > 1:
        return "number"
    return Form(decimals.pop(), groups.pop() if groups else "").reading


def _reading(kind: pa.DataType) -> str:
    if types.is_boolean(kind):
        return "boolean true"
    if is_timestamps(kind):
        return "date iso"
    is_number = types.is_integer(kind) or types.is_floating(kind)
    return "number" if is_number or types.is_decimal(kind) else "text"


def read_new(
    source: Any,
    schema: Schema,
    levels: Mapping[str, Sequence[str]] | None = None,
    texts: Sequence[str] = (),
) -> pa.Table:
    """The columns of a schema in new rows, each cell read by the schema.

    Args:
        source: a file, or whatever `to_arrow` takes.
        schema: of the rows that a model was fitted to.
        levels: the categories that were seen in each column.
        texts: columns of text that are read beside those that are always used.

    Raises:
        InputError: names the row, the column and the cell that cannot be read.
    """
    used = [column for column in schema if column.used or column.name in texts]
    text = {column.name for column in used if column.reading == "text"}
    if isinstance(source, str | PathLike | bytes):
        frame = _file(source, [column.name for column in used])
    else:
        frame = to_arrow(source, text=text)
    known = set(frame.column_names)
    for column in used:
        if column.name not in known:
            raise InputError(unknown_column(column.name, frame.column_names))
    seen = levels or {}
    return pa.table(
        {c.name: _conform(frame[c.name], c, seen.get(c.name, ())) for c in used}
    )


def _file(source: str | PathLike | bytes, names: list[str]) -> pa.Table:
    """The table in a file; the header of one of text is the row with these names."""
    file = open_table(source, names=names)
    if not isinstance(file, TextTable):
        return file.read()
    file.given = {name: "text" for name in file.names if name in set(names)}
    return file.read()


def _conform(values: Any, column: Column, levels: Sequence[str]) -> Any:
    """A column with the type that its reading gives."""
    kind, reading = values.type, column.reading
    if not reading:  # an older model
        return values
    if types.is_null(kind):
        values = pc.cast(values, pa.string())
    if reading == "text":
        return values if is_text(kind) else _as_text(values, levels)
    if is_text(values.type):
        cells = _joined(pc.cast(values, pa.string()))
        cells = pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)
        return _converted(cells, column)
    if reading.startswith("boolean") and not types.is_boolean(kind):
        cells = [None if v is None else str(v).lower() for v in values.to_pylist()]
        return _converted(pa.array(cells, pa.string()), column)
    if reading.startswith("number") and types.is_boolean(kind):
        return pc.cast(values, pa.float64())
    return values


def _converted(cells: pa.Array, column: Column) -> pa.Array:
    """Cells of text by the reading of their column, or a sentence about the first misfit."""
    if column.reading.startswith("boolean"):
        return _truth(cells, column)
    try:
        values = convert(cells, column.reading)
    except Misfit:
        _refuse(cells, first_misfit(cells, column.reading), column)
    is_name = column.kind in ("code", "category") and types.is_floating(values.type)
    return _codes(cells, values) if is_name else values


def _codes(cells: pa.Array, numbers: pa.Array) -> pa.Array:
    """Numbers that name something, as text: 101.0 as 101, whole ones to the last digit."""
    text = pc.utf8_trim_whitespace(cells)
    names = [None if v is None else written(v) for v in numbers.to_pylist()]
    whole = pc.match_substring_regex(text, "^(0|-?[1-9][0-9]*)$")
    return pc.if_else(whole, text, pa.array(names, pa.string()))


def _truth(cells: pa.Array, column: Column) -> pa.Array:
    """Truth values, however they are written."""
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    true = pc.is_in(lower, pa.array(TRUE))
    known = pc.or_(pc.or_(true, pc.is_in(lower, pa.array(FALSE))), pc.is_null(lower))
    if not pc.all(known).as_py():
        _refuse(cells, int(np.argmin(known.to_numpy(zero_copy_only=False))), column)
    return pc.if_else(pc.is_null(lower), pa.scalar(None, pa.bool_()), true)


def _refuse(cells: pa.Array, row: int, column: Column) -> NoReturn:
    """Say which cell cannot be read as its column was."""
    what, _, form = column.reading.partition(" ")
    also = f" of the form {form}" if form and what != "range" and form != "iso" else ""
    raise InputError(
        f"column {column.name!r} has {str(cells[row])[:40]!r} in row {row}, which is no "
        f"{what}{also}, as that column held when the model was fitted; correct the cell."
    )


def _as_text(values: Any, levels: Sequence[str]) -> pa.Array:
    """Values as the text they stand for: 1.0 as "1.0" or "1", whichever was seen."""
    known = set(levels)

    def text(value: Any) -> str | None:
        if value is None or value != value:
            return None
        forms = [str(value), written(value), str(value).lower()]
        return next((form for form in forms if form in known), forms[0])

    return pa.array([text(value) for value in values.to_pylist()], pa.string())


def _joined(values: Any) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
