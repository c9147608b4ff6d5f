"""Excel sheets as text: what their cells hold, row by row.

The text is read as that of any other file, so a table has the same columns whether it is
saved as a sheet or as CSV.
"""

import csv
import io
from datetime import date, datetime
from typing import Any

from likely.data.columns import written
from likely.data.errors import table_error
from likely.data.formats.archive import ZIP
from likely.data.formats.content import Content

EXCEL = (ZIP, b"\xd0\xcf\x11\xe0")
"""The first bytes of workbooks, new and old."""


def sheet_as_text(content: Content) -> tuple[Content, tuple[str, ...]]:
    """The first sheet with cells as CSV, and a note if there are others."""
    try:
        import python_calamine
    except ImportError:
        problem = "is an Excel sheet; pip install 'likely[excel]', or save it as CSV."
        raise table_error(content.path, problem) from None
    try:
        book = python_calamine.load_workbook(io.BytesIO(content.whole()))
        names = book.sheet_names
        sheets = ((name, book.get_sheet_by_name(name).to_python()) for name in names)
        name, rows = next(((n, r) for n, r in sheets if r), ("", []))
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        problem = f"is a damaged zip archive or Excel sheet ({error}); save it as CSV."
        raise table_error(content.path, problem) from error
    if not rows:
        raise table_error(content.path, "has no sheet with cells; give a table.")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        cells = [_text(value) for value in row]
        writer.writerow(cells if any(cells) else [])
    others = len(names) - 1
    note = f"sheet {name!r} was read, and not {others} more"
    text = out.getvalue().encode("utf-8", errors="replace")
    return Content(content.path, None, text), (note,) if others else ()


def _text(value: Any) -> str:
    """The value of a cell as CSV has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return written(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, date) else str(value)
