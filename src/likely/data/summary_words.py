"""Words: categories, identifiers or prose."""

from typing import Any

import numpy as np

from likely.data.columns import as_levels
from likely.data.summary import FEW, LIMIT, Summary


class Words(Summary):
    """A column of words."""

    def __init__(self, name: str, declared: bool = False):
        super().__init__(name)
        self.declared, self.repeats, self.blanks, self.looked = declared, 0, 0, 0

    def add(self, values: Any) -> None:
        """Count the levels, and the words in some of them."""
        codes, words = as_levels(values, self.name)
        present = int((codes >= 0).sum())
        self.rows += len(codes)
        self.missing += len(codes) - present
        times = np.bincount(codes[codes >= 0], minlength=len(words))
        self.repeats += present - int((times > 0).sum())
        used = np.flatnonzero(times)
        if self.counts is not None and len(used) <= LIMIT:
            self.count([words[i] for i in used], times[used])
        elif len(used):
            self.counts = None
        for i in used[:1000]:
            self.blanks += words[i].strip().count(" ")
            self.looked += 1

    def verdict(self) -> tuple[str, str, bool]:
        """By how often values repeat, and how many words they have."""
        if self.declared:
            return "category", "the frame says so", False
        different = self.distinct or self.present - self.repeats
        prose = self.blanks >= 3 * max(self.looked, 1)
        if prose and different * 2 > self.present:
            return "text", "sentences that hardly repeat", False
        if different == self.present and self.present >= FEW:
            return "text", "every row has a value of its own", True
        if different * 2 > self.present >= FEW:
            return "text", f"{different:,} different values, few repeat", False
        return "category", self._category(), False

    def _category(self) -> str:
        counts = self.counts
        if counts is None:
            return "words that repeat, many different ones"
        some = "1 value" if len(counts) == 1 else f"{len(counts):,} values that repeat"
        numbers = {word for word in counts if _reads_as_number(word)}
        if len(numbers) == len(counts):
            return f"{some}, digits that are codes: written with zeros or too long"
        share = sum(counts[word] for word in numbers) / max(self.present, 1)
        if share > 0.5:
            odd = next(word for word in counts if word not in numbers)
            return f"{some}; {share:.0%} are numbers, but not {odd[:20]!r}"
        return some


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
