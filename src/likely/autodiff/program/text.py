"""Numbers, arrays and tables as plain text."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

MAX_SHOWN_ENTRIES = 8
"""Arrays with at most this many entries are shown in full."""


def number(value: Any, digits: int = 4) -> str:
    """A scalar as short text."""
    value = np.asarray(value)[()]
    if isinstance(value, np.bool_ | np.integer):
        return str(value)
    if isinstance(value, np.complexfloating):
        return f"{value:.{digits}g}"
    value = float(value)
    return f"{value:.{digits}g}" if value else "0"


def array(value: Any, shown: int = MAX_SHOWN_ENTRIES, digits: int = 4) -> str:
    """An array as text: all entries if there are few, else their range and mean."""
    if not isinstance(getattr(value, "dtype", None), np.dtype):
        return "a random key" if hasattr(value, "dtype") else str(value)
    value = np.asarray(value)

    def write(entry: Any) -> str:
        return number(entry, digits)

    if value.size <= shown:
        return nested(value, write)
    if not np.issubdtype(value.dtype, np.floating) and value.dtype.kind != "V":
        return f"{nested(value.ravel()[:3], write)[:-1]} …]"
    value = value.astype(np.float64)
    if value.min() == value.max():
        return f"all {number(value.min(), digits)}"
    low, high, mean = value.min(), value.max(), value.mean()
    if abs(mean) < 1e-7 * max(abs(low), abs(high)):  # nothing but rounding
        mean = 0.0
    return f"{number(low, 3)} … {number(high, 3)}, mean {number(mean, 3)}"


def nested(value: Any, write: Callable[[Any], str]) -> str:
    """The entries of an array in nested brackets."""
    if np.ndim(value) == 0:
        return write(np.asarray(value)[()])
    return f"[{', '.join(nested(row, write) for row in value)}]"


def shape(dims: Sequence[int]) -> str:
    """A shape as text: (2, 3) as 2×3, () as ""."""
    return "×".join(map(str, dims))


def count(value: int | float) -> str:
    """A large count as short text: 1,234 or 12.3k or 4.56M."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (limit if limit > 1e4 else 1e3):.3g}{unit}"
    return f"{value:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], width: int = 44) -> str:
    """A table with a header; long cells are truncated, empty columns left out."""
    cells = [[truncated(str(cell), width) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    used = [i for i in range(len(head)) if not cells or any(row[i] for row in cells)]

    def line(row: Sequence[str]) -> str:
        return "  ".join(row[i].ljust(widths[i]) for i in used).rstrip()

    rule = "  ".join("─" * widths[i] for i in used)
    return "\n".join([line(head), rule, *map(line, cells)])


def truncated(text: str, width: int) -> str:
    """The text, cut off with "…" if it is wider than `width` letters."""
    return text if len(text) <= width else text[: width - 1] + "…"
