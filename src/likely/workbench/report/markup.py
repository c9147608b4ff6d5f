"""Tables, figures and paragraphs of the report as HTML."""

import html
from collections.abc import Sequence
from typing import Any


def escape(text: Any) -> str:
    """Text that is safe inside HTML."""
    return html.escape(str(text), quote=True)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    caption: str,
    best: int | None = None,
    text: Sequence[int] = (),
) -> str:
    """An HTML table that scrolls sideways where it is wide; its cells are escaped.

    Args:
        head: the names of the columns.
        rows: the cells.
        caption: a sentence above the table.
        best: the row that is marked.
        text: the columns that hold sentences, which may be broken into lines.
    """
    kind = [' class="text"' if j in text else "" for j in range(len(head))]
    top = "".join(
        f'<th scope="col"{k}>{escape(name)}</th>'
        for k, name in zip(kind, head, strict=True)
    )
    body = []
    for i, row in enumerate(rows):
        mark = ' class="best"' if i == best else ""
        cells = "".join(
            f"<td{k}>{escape(c)}</td>" for k, c in zip(kind, row, strict=True)
        )
        body.append(f"<tr{mark}>{cells}</tr>")
    return (
        f'<p class="caption">{escape(caption)}</p>'
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def figure(svg: str, caption: str, wide: bool = False) -> str:
    """A chart with a caption."""
    kind = ' class="wide"' if wide else ""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure{kind}>{svg}{below}</figure>"


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of plain text."""
    return (
        f'<p class="{style}">{escape(text)}</p>' if style else f"<p>{escape(text)}</p>"
    )


def grid(figures: Sequence[str]) -> str:
    """Figures beside each other, as many as have room."""
    return f'<div class="grid2">{"".join(figures)}</div>'
