"""Words as chains of symbols in which every occurrence of a pair can be merged at once.

Each symbol knows the one before and after it in its word, and each pair knows where it occurs,
so that a merge touches the occurrences of one pair and their neighbours only: learning and applying
m merges to n symbols takes O(m + n log n) steps of NumPy instead of O(m n).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

SHIFT = 32
"""A pair (a, b) of symbols has the key a·2³² + b: keys are in the order of pairs."""
ENDED = -1
"""What stands before the first and after the last symbol of a word."""
MERGED = -2
"""What is left of a symbol that was merged with the one before it."""


class Occurrences(NamedTuple):
    """A pair, how often it occurs, and where its first symbols are."""

    key: int
    count: int
    places: np.ndarray


class Symbols:
    """Words as chains of symbols.

    Args:
        symbols: (n,) the symbols of all words, one word after the other.
        lengths: (k,) the number of symbols of each word, 1 or more.
        weights: (k,) how often each word counts, whole numbers; None for ones.
    """

    def __init__(
        self,
        symbols: np.ndarray,
        lengths: np.ndarray,
        weights: np.ndarray | None = None,
    ):
        n = len(symbols)
        weights = np.ones(len(lengths), int) if weights is None else weights
        self.starts = np.cumsum(lengths) - lengths
        self.value = np.append(symbols, ENDED).astype(np.int64)
        self.before, self.after = np.arange(-1, n), np.arange(1, n + 2)
        self.before[self.starts] = n
        self.after[self.starts + lengths - 1] = n
        self.weight = np.repeat(weights.astype(np.int64), lengths)
        self.new = np.zeros(n + 1, bool)

    def pairs(self) -> Iterator[Occurrences]:
        """All pairs of symbols side by side."""
        first = np.flatnonzero(self.after[:-1] < len(self.weight))
        keys = (self.value[first] << SHIFT) + self.value[first + 1]
        return _grouped(keys, self.weight[first], first)

    def merge(
        self, key: int, places: np.ndarray, symbol: int
    ) -> tuple[dict[int, int], Iterator[Occurrences]]:
        """Put one symbol in the place of a pair, everywhere and from left to right.

        Args:
            key: of the pair.
            places: where it may occur; places where it is no longer are left out.
            symbol: the new one.

        Returns:
            How often each pair has gone, and the pairs that have come.
        """
        value, before, after, new = self.value, self.before, self.after, self.new
        end, a, b = len(self.weight), key >> SHIFT, key & ((1 << SHIFT) - 1)
        i = places[value[places] == a]
        i = i[value[after[i]] == b]
        if a == b:
            i = _without_overlaps(np.sort(i), after)
        j = after[i]
        left, right, w = before[i], after[j], self.weight[i]
        new[i] = True  # where merged pairs touch, what was between them counts once
        has_left, has_right = left < end, (right < end) & ~new[right]
        lost = np.concatenate([(value[left] << SHIFT) + a, (b << SHIFT) + value[right]])
        value[i], value[j], after[i] = symbol, MERGED, right
        before[right] = i
        left = before[i]
        found = np.concatenate(
            [(value[left] << SHIFT) + symbol, (symbol << SHIFT) + value[right]]
        )
        new[i] = False
        kept = np.concatenate([has_left, has_right])
        w, at = np.concatenate([w, w])[kept], np.concatenate([left, i])[kept]
        gone = {k: count for k, count, _ in _grouped(lost[kept], w, at)}
        return gone, _grouped(found[kept], w, at)

    def words(self) -> list[list[int]]:
        """The symbols of each word, as they are now."""
        there = self.value[:-1] != MERGED
        values = self.value[:-1][there].tolist()
        ends = np.append(0, np.cumsum(there))[np.append(self.starts, len(there))]
        return [values[a:b] for a, b in pairwise(ends.tolist())]


def _without_overlaps(i: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Every other place of a run: (a, a) occurs twice in aaa, and is merged once."""
    n = np.arange(len(i))
    goes_on = np.append(False, after[i[:-1]] == i[1:])
    begin = np.maximum.accumulate(np.where(goes_on, 0, n))
    return i[(n - begin) % 2 == 0]


def _grouped(
    keys: np.ndarray, weights: np.ndarray, places: np.ndarray
) -> Iterator[Occurrences]:
    """The places of each key, with the sum of their weights."""
    if not len(keys):
        return iter(())
    order = np.argsort(keys, kind="stable")
    keys, places = keys[order], places[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    counts = np.add.reduceat(weights[order], first).tolist()
    bounds = [*first.tolist(), len(keys)]
    parts = [places[a:b] for a, b in pairwise(bounds)]
    return map(Occurrences, keys[first].tolist(), counts, parts)
