"""The table to imitate: its rows, and how its cells are written."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

from likely import data
from likely.core.checks import InputError
from likely.data import registry
from likely.data.text_table import TextTable
from likely.evaluate.assignment import generator_of
from likely.workbench.table import read

MAX_ROWS = 50_000
"""Rows that models are fitted to and judged by."""
MAX_DECIMALS = 8
"""Decimals up to which numbers of a table have so many and no more."""


class Writing(NamedTuple):
    """How the cells of a table are written."""

    readings: dict[str, str]
    """How each column was read: "integer", "date %d.%m.%Y", "number $1,234.5", ..."""
    decimals: dict[str, int]
    """Decimals of the columns of fractions that have a fixed number of them."""
    delimiter: str = ","


class Original(NamedTuple):
    """A table to imitate."""

    name: str
    frame: pa.Table
    writing: Writing
    notes: tuple[str, ...]


def read_original(source: Any, seed: int = 0) -> Original:
    """The rows of a file, the bytes of one, a frame, or a named data set.

    Words for truth values (yes, no) and ranges (25-34) stay as they are written. Of more than
    `MAX_ROWS` rows some are drawn.

    Args:
        source: where the rows are.
        seed: of that choice.
    """
    name, frame, notes, readings = read(source)
    readings, delimiter = dict(readings), ","
    file = _text_file(source, name)
    if file is not None:
        delimiter = file.dialect.delimiter
        words = {k for k, v in readings.items() if v.startswith(("boolean", "range"))}
        if words:
            again = data.open_table(source, readings=dict.fromkeys(words, "text"))
            frame = again.read()
            readings |= dict.fromkeys(words, "text")
    if not len(frame):
        raise InputError(f"{name} has no rows.")
    frame = frame.combine_chunks()
    decimals = {c: k for c in frame.column_names if (k := decimals_of(frame[c])) >= 0}
    if len(frame) > MAX_ROWS:
        rows = generator_of(seed).choice(len(frame), MAX_ROWS, replace=False)
        said = f"Of {len(frame):,} rows, {MAX_ROWS:,} drawn at random are used."
        frame, notes = frame.take(pa.array(np.sort(rows))), (*notes, said)
    return Original(name, frame, Writing(readings, decimals, delimiter), notes)


def _text_file(source: Any, name: str) -> TextTable | None:
    """The file as text; None where it has types, or is no file."""
    by_name = source in registry.SETS if isinstance(source, str) else False
    if name == "frame" or (by_name and not Path(source).exists()):
        return None
    file = data.open_table(source)
    return file if isinstance(file, TextTable) else None


def decimals_of(values: Any) -> int:
    """How many decimals the fractions of a column have; −1 where it has none, or many."""
    if not types.is_floating(values.type):
        return -1
    x = np.asarray(values.to_numpy(), np.float64)
    x = x[np.isfinite(x)]
    scale = np.abs(x).max(initial=0.0)
    for k in range(MAX_DECIMALS + 1):
        if scale < 10 ** (14 - k) and np.allclose(np.round(x, k), x, 1e-12, 1e-14):
            return k
    return -1
