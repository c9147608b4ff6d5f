"""A synthetic table as a file, its cells written as those of the original."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.feather
import pyarrow.parquet as pq
from pyarrow import types

from likely.core.checks import InputError
from likely.data.columns import is_timestamps
from likely.data.readings.forms import ANY_SCALE, Form, parse_form
from likely.files.atomic import replace
from likely.workbench.sampling.source import Writing

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
TEXT, RECORDS = (".csv", ".txt", ".tsv"), (".json", ".jsonl", ".ndjson")
ARROW = (".arrow", ".feather")
FORMATS = (*TEXT, *RECORDS, *ARROW, ".parquet")


def check_place(path: Path) -> None:
    """Refuse files that cannot be written: of no format that is known, or in no folder.

    Args:
        path: the file to write.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path.name!r} names no format that can be written; let it end in one of "
            f"{', '.join(FORMATS)}."
        )
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r} to write to.")


def rounded(table: pa.Table, writing: Writing) -> pa.Table:
    """The table with as many decimals as the original has.

    Args:
        table: new rows.
        writing: of the original.
    """
    for name, k in writing.decimals.items():
        if name in table.column_names and types.is_floating(table[name].type):
            place = table.column_names.index(name)
            column = pc.round(table[name], ndigits=k)
            table = table.set_column(place, name, column)
    return table


def write_table(table: pa.Table, path: Path, writing: Writing) -> None:
    """Write a table, in the format that the name of the file ends in.

    Args:
        table: the rows.
        path: of the file.
        writing: how cells are written in text.
    """
    check_place(path)
    kind = path.suffix.lower()
    if kind == ".parquet":
        write_file(path, lambda file: pq.write_table(table, file))
        return
    if kind in ARROW:
        write: Any = pyarrow.feather.write_feather
        write_file(path, lambda file: write(table, file))
        return
    text = _records(table, kind) if kind in RECORDS else _cells(table, kind, writing)
    write_file(path, lambda file: file.write(text.encode()))


def write_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file in one step, in the place of an earlier one.

    Args:
        path: of the file.
        write: writes into a file that is open.
    """
    replace(path, write, lambda _: True)


def _records(table: pa.Table, kind: str) -> str:
    rows = [
        {name: _json_value(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]
    if kind == ".json":
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else value


def _cells(table: pa.Table, kind: str, writing: Writing) -> str:
    """Rows of text."""
    out = io.StringIO()
    delimiter = "\t" if kind == ".tsv" else writing.delimiter
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    columns = [text_of(table[name], name, writing) for name in table.column_names]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def text_of(values: Any, name: str, writing: Writing) -> list[str]:
    """The cells of a column as text, empty where they are missing.

    Args:
        values: an Arrow column.
        name: of the column.
        writing: of the original.
    """
    reading = writing.readings.get(name, "")
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_timestamps(values.type) or types.is_date(values.type):
        return _dates(values, reading)
    cells = values.to_pylist()
    if types.is_floating(values.type):
        k = writing.decimals.get(name, -1)
        form = parse_form(reading)
        return [_number(x, k, form) for x in cells]
    if types.is_boolean(values.type):
        return ["" if v is None else str(v).lower() for v in cells]
    return ["" if v is None else str(v) for v in cells]


def _dates(values: Any, reading: str) -> list[str]:
    form = reading.removeprefix("date ")
    if not form.startswith("%"):
        days = all(v is None or not _has_time(v) for v in values.to_pylist())
        form = "%Y-%m-%d" if days else "%Y-%m-%dT%H:%M:%S"
    return ["" if v is None else v.strftime(form) for v in values.to_pylist()]


def _has_time(value: Any) -> bool:
    return any(getattr(value, part, 0) for part in ("hour", "minute", "second"))


def _number(x: float | None, k: int, form: Form | None) -> str:
    """A number as text, in a form of its own where the column has one."""
    if x is None or not np.isfinite(x):
        return ""
    if form is None:
        if k < 0:
            return f"{x:.10g}"
        return repr(round(x, k) + 0.0)
    if form.unit == ANY_SCALE:
        return f"{x:.0f}" if k <= 0 else f"{x:.{k}f}"
    digits = f"{abs(x):,.{max(k, 0)}f}"
    swap = str.maketrans({",": form.group, ".": form.decimal})
    unit = form.unit if form.unit in ("", "%") else f" {form.unit}"
    minus = "-" if x < 0 else ""
    return f"{minus}{form.currency}{digits.translate(swap)}{unit}"
