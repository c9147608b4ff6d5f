"""Tables as text and as HTML: a grid for two variables, a list of cells for more."""

import html
from typing import Any

import numpy as np

MAX_SIDE = 12
"""The number of rows and columns that are shown."""


def heading(table: Any) -> str:
    """P(heads | conditions), with the number of rows counted."""
    bar = f" | {', '.join(table.conditions)}" if table.conditions else ""
    counted = "" if table.counts is None else f", {table.counts.sum():.6g} rows counted"
    return f"P({', '.join(table.heads)}{bar}){counted}"


def grid(table: Any) -> tuple[list[str], list[list[str]], str]:
    """The head, the rows and what is left out."""
    values, names, levels = table.values, table.names, table.levels
    if values.ndim == 2:
        columns = levels[1][:MAX_SIDE]
        head = [names[0], *(f"{names[1]}={c}" for c in columns)]
        rows = [
            [str(level), *(f"{v:.4g}" for v in values[i, :MAX_SIDE])]
            for i, level in enumerate(levels[0][:MAX_SIDE])
        ]
        more = max(0, values.shape[0] - MAX_SIDE), max(0, values.shape[1] - MAX_SIDE)
        note = f"{more[0]} more rows, {more[1]} more columns" if any(more) else ""
        return head, rows, note
    order = np.argsort(-values.ravel(), kind="stable")[:MAX_SIDE]
    if values.ndim == 1 and len(values) <= MAX_SIDE:
        order = np.arange(len(values))
    cells = [np.unravel_index(i, values.shape) for i in order]
    rows = [
        [
            *(str(own[i]) for own, i in zip(levels, cell, strict=True)),
            f"{values[cell]:.4g}",
        ]
        for cell in cells
    ]
    left = values.size - len(order)
    return [*names, "p"], rows, f"{left} less probable cells" if left else ""


def text_of(table: Any) -> str:
    """The table for a terminal."""
    head, rows, note = grid(table)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True))
        for row in (head, *rows)
    ]
    return "\n".join([heading(table), *lines, *([f"… {note}"] if note else [])])


def html_of(table: Any) -> str:
    """The table for a notebook, with cells shaded by their probability."""
    head, rows, note = grid(table)
    top = "".join(f"<th>{html.escape(word)}</th>" for word in head)
    n_labels = 1 if table.values.ndim == 2 else len(table.names)
    largest = max(float(table.values.max()), 1e-300)
    body = ""
    for row in rows:
        labels = "".join(f"<th>{html.escape(word)}</th>" for word in row[:n_labels])
        cells = "".join(
            f'<td style="background: rgba(0,114,178,{0.6 * float(word) / largest:.2f})">'
            f"{word}</td>"
            for word in row[n_labels:]
        )
        body += f"<tr>{labels}{cells}</tr>"
    more = f"<p>… {html.escape(note)}</p>" if note else ""
    caption = html.escape(heading(table))
    return f"<table><caption>{caption}</caption><tr>{top}</tr>{body}</table>{more}"
