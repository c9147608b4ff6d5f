"""How a schema shows itself: in the terminal, in a notebook, as plain text."""

import html as markup
import io
from typing import Any

from likely.data.schema import Column, Schema

HEADS = ("column", "kind", "values", "missing", "why")
STYLE = (
    "<style>.likely-schema td, .likely-schema th {text-align: left; "
    "vertical-align: top; padding: 0.2em 0.8em} "
    ".likely-schema .unused {opacity: 0.55}</style>"
)


def terminal(schema: Schema) -> Any:
    """A rich table."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=_title(schema), caption="\n".join(schema.notes) or None)
    for head in HEADS:
        table.add_column(head, overflow="fold")
    for column in schema:
        style = None if column.used else "dim"
        table.add_row(*map(escape, _cells(schema, column)), style=style)
    return table


def plain(schema: Schema, width: int = 100) -> str:
    """The rich table without colours."""
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(terminal(schema))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def html(schema: Schema) -> str:
    """An HTML table; every name and value is escaped."""
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    rows = "".join(_row(schema, column) for column in schema)
    notes = "".join(f"<p>{markup.escape(note)}</p>" for note in schema.notes)
    caption = f"<caption>{_title(schema)}</caption>"
    body = f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    table = f"<table>{caption}{body}</table>"
    return f'<div class="likely-schema">{STYLE}{table}{notes}</div>'


def _row(schema: Schema, column: Column) -> str:
    style = "" if column.used else ' class="unused"'
    cells = "".join(f"<td>{markup.escape(c)}</td>" for c in _cells(schema, column))
    return f"<tr{style}>{cells}</tr>"


def _title(schema: Schema) -> str:
    return f"{schema.rows:,} rows, {len(schema)} columns"


def _cells(schema: Schema, column: Column) -> tuple[str, ...]:
    flags = [column.kind]
    flags += ["constant"] * column.constant + ["identifier"] * column.identifier
    share = column.missing / schema.rows if schema.rows else 0.0
    missing = f"{column.missing:,} ({share:.1%})" if column.missing else ""
    return column.name, ", ".join(flags), _values(column), missing, column.reason


def _values(column: Column) -> str:
    if column.low is not None:
        return f"{_end(column.low)} to {_end(column.high)}"
    shown = ", ".join(_shortened(value) for value in column.examples[:3])
    more = (column.distinct or 0) - len(column.examples[:3])
    return f"{shown} and {more:,} more" if shown and more > 0 else shown


def _end(value: float | str | None) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def _shortened(value: str, limit: int = 20) -> str:
    value = " ".join(value.split())
    return value if len(value) <= limit else f"{value[: limit - 1]}…"
