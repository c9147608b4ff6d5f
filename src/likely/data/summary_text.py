"""Columns of text: categories, identifiers or prose."""

from typing import Any

import numpy as np

from likely.data.cells import is_number
from likely.data.columns import as_levels
from likely.data.entity_names import names_entities
from likely.data.summary import MAX_COUNTED, MAX_FEW_VALUES, Summary

MAX_INSPECTED = 1000
"""The largest number of values of a chunk whose words are counted."""


class Text(Summary):
    """Statistics of a column of text."""

    def __init__(self, name: str, declared: bool = False):
        super().__init__(name)
        self.declared, self.repeats = declared, 0
        self.spaces, self.inspected = 0, 0

    def _update(self, values: Any) -> int:
        """Count the different values, and the words in some of them."""
        codes, categories = as_levels(values, self.name)
        present = int((codes >= 0).sum())
        times = np.bincount(codes[codes >= 0], minlength=len(categories))
        self.repeats += present - int((times > 0).sum())
        used = np.flatnonzero(times)
        if self.counts is not None and len(used) <= MAX_COUNTED:
            self.count([categories[i] for i in used], times[used])
        elif len(used):
            self.counts = None
        for i in used[:MAX_INSPECTED]:
            self.spaces += categories[i].strip().count(" ")
            self.inspected += 1
        return len(codes) - present

    def kind(self) -> tuple[str, str, bool]:
        """The kind, by how often values repeat and how many words they have."""
        if self.declared:
            return "category", "the frame says so", False
        different = self.distinct or self.present - self.repeats
        prose = self.spaces >= 3 * max(self.inspected, 1)
        if prose and different * 2 > self.present:
            return "text", "sentences that hardly repeat", False
        if different == self.present and self.present >= MAX_FEW_VALUES:
            return "text", "every row has a value of its own", True
        if names_entities(self.name, self.present, different):
            return "text", f"names {different:,} entities that have several rows", True
        if different * 2 > self.present >= MAX_FEW_VALUES:
            return "text", f"{different:,} different values, few repeat", False
        return "category", self._category_reason(), False

    def _category_reason(self) -> str:
        counts = self.counts
        if counts is None:
            return "text that repeats, many different values"
        some = "1 value" if len(counts) == 1 else f"{len(counts):,} values that repeat"
        numbers = {value for value in counts if is_number(value)}
        if len(numbers) == len(counts):
            return f"{some}, digits that are codes: written with zeros or too long"
        share = sum(counts[value] for value in numbers) / max(self.present, 1)
        if share > 0.5:
            odd = next(value for value in counts if value not in numbers)
            return f"{some}; {share:.0%} are numbers, but not {odd[:20]!r}"
        return some
