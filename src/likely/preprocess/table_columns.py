"""The columns of a table as a table encoder reads them: numbers, dates, categories, text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from likely.core.checks import InputError
from likely.data.columns import (
    Levels,
    as_levels,
    as_numbers,
    as_timestamps,
    is_text,
    strings,
)
from likely.data.schema import Schema, unknown_column
from likely.preprocess.date_parts import DateParts
from likely.preprocess.levels import MISSING, UNKNOWN, codes_among


class TableColumns(NamedTuple):
    """The names of the columns that are read as numbers, dates and categories."""

    numbers: list[str]
    dates: list[str]
    categories: list[str]
    texts: list[str]

    @classmethod
    def of(cls, schema: Schema, texts: Sequence[str] = ()) -> "TableColumns":
        """The columns of a schema that can be used, by their kind.

        Args:
            schema: of the table.
            texts: columns of text whose words are used.
        """
        used = [column for column in schema if column.used]
        if not used and not texts:
            why = "; ".join(f"{c.name!r} {c.kind}: {c.reason}" for c in schema)
            raise InputError(f"no column can be used ({why}); set kinds=.")
        return cls(
            [column.name for column in used if column.kind in {"number", "boolean"}],
            [column.name for column in used if column.kind == "date"],
            [column.name for column in used if column.kind in {"code", "category"}],
            list(texts),
        )

    def check(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column, and name the most similar one it has."""
        known = set(table.column_names)
        for name in (*self.numbers, *self.dates, *self.categories, *self.texts):
            if name not in known:
                raise InputError(unknown_column(name, table.column_names))

    def read_numbers(
        self, table: pa.Table, parts: DateParts | None
    ) -> Iterator[np.ndarray]:
        """Numbers and booleans, then the parts of dates; NaN where missing."""
        self.check(table)
        for name in self.numbers:
            values = as_numbers(table[name], name)
            infinite = np.isinf(values)
            if infinite.any():
                row = int(np.argmax(infinite))
                raise InputError(f"column {name!r} contains infinity (row {row}).")
            yield values
        if parts is not None:
            yield from parts.apply(self.read_dates(table)).T

    def read_dates(self, table: pa.Table) -> list[np.ndarray]:
        """The timestamps of each column of dates."""
        self.check(table)
        return [as_timestamps(table[name], name) for name in self.dates]

    def read_categories(self, table: pa.Table) -> list[Levels]:
        """The levels of each column of categories or codes."""
        self.check(table)
        return [as_levels(table[name], name) for name in self.categories]

    def read_texts(self, table: pa.Table) -> list[list[str]]:
        """The texts of each column of text, empty where they are missing."""
        self.check(table)
        return [
            [text or "" for text in strings(table[name]).to_pylist()]
            for name in self.texts
        ]

    def count(
        self, table: pa.Table, seen: Sequence[list[str]]
    ) -> dict[str, dict[str, int]]:
        """How many values of each column are missing, and how many not in `seen`."""
        numbers = zip(self.numbers, self.read_numbers(table, None), strict=True)
        dates = zip(self.dates, self.read_dates(table), strict=True)
        counts = {
            name: {"missing": int(np.isnan(values).sum()), "unseen": 0}
            for name, values in (*numbers, *dates)
        }
        for name, levels, categories in zip(
            self.categories, self.read_categories(table), seen, strict=True
        ):
            codes = codes_among(levels, categories)
            counts[name] = {
                "missing": int((codes == MISSING).sum()),
                "unseen": int((codes == UNKNOWN).sum()),
            }
        return counts


def text_columns(schema: Schema, table: pa.Schema) -> tuple[str, ...]:
    """The columns of prose, which hold text and no lists or bytes."""
    prose = [column.name for column in schema if column.prose]
    return tuple(name for name in prose if is_text(table.field(name).type))
