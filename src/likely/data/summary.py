"""What is seen in a column, chunk by chunk, and the kind it amounts to."""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import numpy as np

from likely.data.columns import as_moments, as_numbers
from likely.data.schema import Column

LIMIT = 10_000
"""Different values that are counted; beyond, a column has many."""
FEW = 20


class Summary(ABC):
    """What was seen in a column so far: write `add` and `verdict`, get `column`."""

    def __init__(self, name: str):
        self.name, self.rows, self.missing = name, 0, 0
        self.counts: Counter | None = Counter()
        self.low: Any = None
        self.high: Any = None

    @abstractmethod
    def add(self, values: Any) -> None:
        """Look at a chunk."""

    @abstractmethod
    def verdict(self) -> tuple[str, str, bool]:
        """The kind, the reason, and whether it is an identifier."""

    @property
    def present(self) -> int:
        """How many values there were."""
        return self.rows - self.missing

    @property
    def distinct(self) -> int | None:
        """How many different ones, where they could be counted."""
        return None if self.counts is None else len(self.counts)

    def column(self) -> Column:
        """The verdict, with what was seen."""
        kind, reason, identifier = self.verdict()
        same = self.low is not None and self.low == self.high
        single = self.distinct == 1 or same or not self.present
        if not self.present:
            reason = "every value is missing"
        elif single and self.missing:
            reason = f"{reason}; it is there or missing"
        common = sorted(
            (self.counts or {}).items(), key=lambda pair: (-pair[1], pair[0])
        )
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
            examples=tuple(str(value)[:100] for value, _ in common[:5]),
        )

    def count(self, values: list, times: np.ndarray) -> None:
        """Count values until there are too many."""
        if self.counts is not None:
            self.counts.update(dict(zip(values, times.tolist(), strict=True)))
            if len(self.counts) > LIMIT:
                self.counts = None


class Booleans(Summary):
    """True and false."""

    def add(self, values: Any) -> None:
        """Count both."""
        x = as_numbers(values, self.name)
        gone = int(np.isnan(x).sum())
        self.rows, self.missing = self.rows + len(x), self.missing + gone
        times = np.array([(x == 0).sum(), (x == 1).sum()])
        self.count(["false", "true"], times)
        self.counts = +self.counts if self.counts is not None else None

    def verdict(self) -> tuple[str, str, bool]:
        """A boolean."""
        return "boolean", "true or false", False


class Moments(Summary):
    """Dates."""

    def add(self, values: Any) -> None:
        """First and last."""
        moments = as_moments(values, self.name)
        gone = np.isnat(moments)
        self.counts = None
        self.rows, self.missing = self.rows + len(gone), self.missing + int(gone.sum())
        if not gone.all():
            ends = [_iso(moments[~gone].min()), _iso(moments[~gone].max())]
            self.low = min(e for e in (self.low, ends[0]) if e is not None)
            self.high = max(e for e in (self.high, ends[1]) if e is not None)

    def verdict(self) -> tuple[str, str, bool]:
        """A date."""
        return "date", "dates", False


def _iso(moment: np.datetime64) -> str:
    """2024-02-29, with the time where there is one."""
    return str(moment.astype("datetime64[s]")).removesuffix("T00:00:00")


class Others(Summary):
    """Lists, bytes and the like: nothing that an encoder here can use."""

    def add(self, values: Any) -> None:
        """Count the rows."""
        self.kind = values.type
        self.counts = None
        self.rows += len(values)
        self.missing += values.null_count

    def verdict(self) -> tuple[str, str, bool]:
        """Text, for want of better."""
        return "text", f"holds {self.kind} values, which cannot be encoded", False
