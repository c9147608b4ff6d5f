"""Columns of numbers: quantities, codes, 0 and 1, or the numbers of the rows."""

import re
from collections import Counter
from typing import Any

import numpy as np

from likely.data.columns import as_numbers
from likely.data.entity_names import (
    ENTITY,
    MAX_ROWS_PER_ENTITY,
    names_entities,
    numbers_entities,
    numbers_rows,
)
from likely.data.summary import MAX_FEW_VALUES, Summary

NAMES_A_CODE = re.compile(r"(^|[_\W])(zip|code|postcode|type|class|category)$", re.I)


class Numbers(Summary):
    """Statistics of a column of numbers."""

    def __init__(self, name: str):
        super().__init__(name)
        self.whole, self.consecutive = True, True
        self.last: float | None = None

    def _update(self, values: Any) -> int:
        """Update range and counts, and check for whole and consecutive numbers."""
        x = as_numbers(values, self.name)
        missing = np.isnan(x)
        x = x[~missing] if missing.any() else x
        if len(x):
            self._look_at(x)
        return int(missing.sum())

    def _look_at(self, x: np.ndarray) -> None:
        """Update range and counts with numbers, of which none is missing."""
        ends = [x.min(), x.max()] + [e for e in (self.low, self.high) if e is not None]
        if np.isfinite(ends).all():
            self.low, self.high = float(min(ends)), float(max(ends))
        self.whole = self.whole and _is_whole(x[:1000]) and _is_whole(x)
        if not self.whole:
            self.counts, self.consecutive = None, False
            return
        if self.counts is not None:
            found, times = np.unique(x, return_counts=True)
            self.count([int(value) for value in found], times)
        if self.consecutive:
            before = [] if self.last is None else [self.last]
            self.consecutive = bool((np.diff([*before, *x[:1]]) == 1).all())
            self.consecutive &= bool((np.diff(x) == 1).all())
            self.last = float(x[-1])

    def _are_entities(self, counts: Counter) -> bool:
        """Whether the numbers name entities, by the column's name or by how often they are."""
        named = names_entities(self.name, self.present, len(counts))
        return named or numbers_entities(self.name, counts)

    def kind(self) -> tuple[str, str, bool]:
        """The kind by the values, and where they leave it open by the column's name."""
        if not self.whole:
            return "number", "numbers with fractions", False
        counts = self.counts
        if counts is not None and set(counts) == {0, 1}:
            return "boolean", "only 0 and 1", False
        unique = counts is None or len(counts) == self.present
        if unique and self.low is not None:
            ends = self.low, self.high
            reason = numbers_rows(self.name, self.present, ends, self.consecutive)
            if reason:
                return "number", reason, True
        if counts is not None and self._are_entities(counts):
            reason = f"names {len(counts):,} entities that have several rows"
            return "number", reason, True
        if counts is None:
            return "number", "whole numbers, many different ones", False
        repeats = self.present >= MAX_ROWS_PER_ENTITY * len(counts)
        if repeats and len(counts) > 2 and ENTITY.search(self.name):
            return "code", "whole numbers, identifiers by the name of the column", False
        if NAMES_A_CODE.search(self.name):
            return "code", "whole numbers, codes by the name of the column", False
        few = len(counts) <= MAX_FEW_VALUES and self.present >= 10 * len(counts)
        if few and _uneven(counts):
            codes = f"{len(counts)} whole numbers with uneven gaps"
            return "code", f"{codes}, which look like codes", False
        return "number", "whole numbers", False


def _is_whole(x: np.ndarray) -> bool:
    return bool((x == np.floor(x)).all() and np.isfinite(x).all())


def _uneven(counts: Counter) -> bool:
    """Whether all gaps between neighbouring values differ, as in 101, 205, 307, 550."""
    gaps = np.diff(sorted(counts))
    return len(gaps) >= 3 and bool(Counter(gaps.tolist()).most_common(1)[0][1] <= 1)
