"""Columns of numbers and words as a table: aligned text, or HTML."""

import html
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

MAX_ROWS = 40


def cell(value: Any, digits: int = 4) -> str:
    """A value as text: words as they are, whole numbers in full, others to some digits."""
    if value is None:
        return ""
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    return f"{value:.{digits}g}"


def text_table(columns: Mapping[str, Any], *, max_rows: int = MAX_ROWS) -> str:
    """Columns by name as aligned text: words to the left, numbers to the right.

    Args:
        columns: values of equal number, by the name of the column.
        max_rows: how many rows are shown; a last line says how many are not.
    """
    shown = [_column(name, values[:max_rows]) for name, values in columns.items()]
    lines = ["  ".join(row).rstrip() for row in zip(*shown, strict=True)]
    rule = "─" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], *_left_out(columns, max_rows)])


def html_table(columns: Mapping[str, Any], *, max_rows: int = MAX_ROWS) -> str:
    """Columns by name as an HTML table.

    Args:
        columns: values of equal number, by the name of the column.
        max_rows: how many rows are shown; a last line says how many are not.
    """
    sides = ["left" if _is_text(values) else "right" for values in columns.values()]
    cells = zip(*(values[:max_rows] for values in columns.values()), strict=True)
    body = "".join(_row(map(cell, row), sides, "td") for row in cells)
    left = "".join(f"<p>{line}</p>" for line in _left_out(columns, max_rows))
    return f"<table>{_row(columns, sides, 'th')}{body}</table>{left}"


def _column(name: str, values: Any) -> list[str]:
    """The cells of a column, its name first, padded to one width."""
    cells = [name, *map(cell, values)]
    width = max(map(len, cells))
    if _is_text(values):
        return [c.ljust(width) for c in cells]
    return [c.rjust(width) for c in cells]


def _is_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def _left_out(columns: Mapping[str, Any], max_rows: int) -> list[str]:
    more = max((len(values) for values in columns.values()), default=0) - max_rows
    return [f"... and {more} more"] if more > 0 else []


def _row(cells: Any, sides: Sequence[str], tag: str) -> str:
    """A row of an HTML table."""
    shown = "".join(
        f'<{tag} style="text-align:{side}">{html.escape(str(text))}</{tag}>'
        for text, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{shown}</tr>"
