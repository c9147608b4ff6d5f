"""The columns of a table as a table encoder reads them: numbers, dates, words."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from likely.core.checks import InputError
from likely.data.columns import Levels, as_levels, as_moments, as_numbers
from likely.data.schema import Schema, unknown_column
from likely.preprocess.date_parts import DateParts
from likely.preprocess.levels import MISSING, UNKNOWN, place


class TableColumns(NamedTuple):
    """Which columns are read as what."""

    numbers: list[str]
    dates: list[str]
    words: list[str]

    @classmethod
    def of(cls, schema: Schema) -> "TableColumns":
        """By kind, those that can be used."""
        used = [column for column in schema if column.used]
        if not used:
            why = "; ".join(f"{c.name!r} {c.kind}: {c.reason}" for c in schema)
            raise InputError(f"no column can be used ({why}); set kinds=.")
        return cls(
            [column.name for column in used if column.kind in {"number", "boolean"}],
            [column.name for column in used if column.kind == "date"],
            [column.name for column in used if column.kind in {"code", "category"}],
        )

    def check(self, table: pa.Table) -> None:
        """Refuse a table that lacks a column, with the nearest that it has."""
        known = set(table.column_names)
        for name in (*self.numbers, *self.dates, *self.words):
            if name not in known:
                raise InputError(unknown_column(name, table.column_names))

    def read_numbers(
        self, table: pa.Table, parts: DateParts | None
    ) -> Iterator[np.ndarray]:
        """Numbers and booleans, then the parts of dates; NaN where missing."""
        self.check(table)
        for name in self.numbers:
            values = as_numbers(table[name], name)
            endless = np.isinf(values)
            if endless.any():
                row = int(np.argmax(endless))
                raise InputError(f"column {name!r} contains infinity (row {row}).")
            yield values
        if parts is not None:
            yield from parts.apply(self.read_dates(table)).T

    def read_dates(self, table: pa.Table) -> list[np.ndarray]:
        """Moments."""
        self.check(table)
        return [as_moments(table[name], name) for name in self.dates]

    def read_words(self, table: pa.Table) -> list[Levels]:
        """Codes and categories."""
        self.check(table)
        return [as_levels(table[name], name) for name in self.words]

    def count(
        self, table: pa.Table, seen: Sequence[list[str]]
    ) -> dict[str, dict[str, int]]:
        """How much is missing in each column, and how much is not in `seen`."""
        numbers = zip(self.numbers, self.read_numbers(table, None), strict=True)
        dates = zip(self.dates, self.read_dates(table), strict=True)
        counts = {
            name: {"missing": int(np.isnan(values).sum()), "unseen": 0}
            for name, values in (*numbers, *dates)
        }
        for name, levels, words in zip(
            self.words, self.read_words(table), seen, strict=True
        ):
            where = place(levels, words)
            counts[name] = {
                "missing": int((where == MISSING).sum()),
                "unseen": int((where == UNKNOWN).sum()),
            }
        return counts
