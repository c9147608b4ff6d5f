"""Statistics of a column, gathered chunk by chunk, and the kind that follows."""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import numpy as np

from likely.data.columns import as_numbers, as_timestamps
from likely.data.schema import Column

MAX_COUNTED = 10_000
"""The largest number of different values that are counted."""
MAX_FEW_VALUES = 20
"""The largest number of different values that counts as few."""


class Summary(ABC):
    """What was seen in a column so far: write `_update` and `kind`, get the rest."""

    def __init__(self, name: str):
        self.name, self.rows, self.missing = name, 0, 0
        self.counts: Counter | None = Counter()
        self.low: Any = None
        self.high: Any = None

    @abstractmethod
    def _update(self, values: Any) -> int:
        """Look at a chunk of the column, and return how many values are missing."""

    @abstractmethod
    def kind(self) -> tuple[str, str, bool]:
        """The kind, the reason, and whether it is an identifier."""

    def add(self, values: Any) -> None:
        """Update the statistics with a chunk of the column."""
        self.rows += len(values)
        self.missing += self._update(values)

    @property
    def present(self) -> int:
        """How many values are not missing."""
        return self.rows - self.missing

    @property
    def distinct(self) -> int | None:
        """How many different values there are, or None where they are too many."""
        return None if self.counts is None else len(self.counts)

    def column(self) -> Column:
        """The column of a schema, with its kind and what was seen in it."""
        kind, reason, identifier = self.kind()
        same = self.low is not None and self.low == self.high
        single = self.distinct == 1 or same or not self.present
        if not self.present:
            reason = "every value is missing"
        elif single and self.missing:
            reason = f"{reason}; it is present or missing"
        counts = self.counts or {}
        common = sorted(counts, key=lambda value: (-counts[value], value))[:5]
        return Column(
            self.name,
            kind,
            reason,
            constant=single and not (self.present and self.missing),
            identifier=identifier,
            missing=self.missing,
            distinct=self.distinct,
            low=self.low,
            high=self.high,
            examples=tuple(str(value)[:100] for value in common),
        )

    def count(self, values: list, times: np.ndarray) -> None:
        """Count values until there are too many."""
        if self.counts is not None:
            self.counts.update(dict(zip(values, times.tolist(), strict=True)))
            if len(self.counts) > MAX_COUNTED:
                self.counts = None


class Booleans(Summary):
    """Statistics of a column of true and false."""

    def _update(self, values: Any) -> int:
        """Count true, false and missing values."""
        x = as_numbers(values, self.name)
        counts = Counter(false=int((x == 0).sum()), true=int((x == 1).sum()))
        self.counts = counts + (self.counts or Counter())
        return int(np.isnan(x).sum())

    def kind(self) -> tuple[str, str, bool]:
        """The kind "boolean"."""
        return "boolean", "true or false", False


class Dates(Summary):
    """Statistics of a column of dates."""

    def _update(self, values: Any) -> int:
        """Find the first and the last date."""
        times = as_timestamps(values, self.name)
        missing = np.isnat(times)
        self.counts = None
        if not missing.all():
            ends = [_iso(times[~missing].min()), _iso(times[~missing].max())]
            ends += [end for end in (self.low, self.high) if end is not None]
            self.low, self.high = min(ends), max(ends)
        return int(missing.sum())

    def kind(self) -> tuple[str, str, bool]:
        """The kind "date"."""
        return "date", "dates", False


def _iso(time: np.datetime64) -> str:
    """The ISO form, such as 2024-02-29, with the time of day if it is not midnight."""
    return str(time.astype("datetime64[s]")).removesuffix("T00:00:00")


class Others(Summary):
    """Statistics of lists, bytes and other types that no encoder can use."""

    def _update(self, values: Any) -> int:
        """Count missing values."""
        self.type, self.counts = values.type, None
        return values.null_count

    def kind(self) -> tuple[str, str, bool]:
        """The kind "text", which encoders leave out."""
        return "text", f"holds {self.type} values, which cannot be encoded", False
