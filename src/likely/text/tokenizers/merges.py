"""Merges of pairs: learned from how often pairs occur, applied in the order they were learned.

Of pairs that occur equally often the one with the smaller ids is merged first, so that the
result depends on nothing but the counts of words.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

import numpy as np

from likely.text.tokenizers.symbols import ENDED, SHIFT, Symbols

MAX_SHORT = 5000
"""Symbols of a word up to which plain Python is faster than NumPy on its pairs."""


def learn_merges(
    symbols: Symbols, n_merges: int, first_id: int, min_count: int
) -> list[tuple[int, int, int]]:
    """The merges (a, b, ab): the most frequent pair, again and again.

    Args:
        symbols: the words, with their counts.
        n_merges: how many at most.
        first_id: the symbol of the first merge; the others follow.
        min_count: how often a pair has to occur.
    """
    counts, places = {}, {}
    for key, count, at in symbols.pairs():
        counts[key], places[key] = count, at
    queue = [(-count, key) for key, count in counts.items()]
    heapify(queue)
    merges = []
    while queue and len(merges) < n_merges:
        count, key = heappop(queue)
        if counts[key] != -count:  # it has become rarer since
            heappush(queue, (-counts[key], key))
            continue
        if -count < min_count:
            break
        new = first_id + len(merges)
        gone, come = symbols.merge(key, places.pop(key), new)
        merges.append((key >> SHIFT, key & ((1 << SHIFT) - 1), new))
        for other, fewer in gone.items():
            counts[other] -= fewer
        counts[key] = 0
        for other, count, at in come:
            counts[other], places[other] = count, at
            heappush(queue, (-count, other))
    return merges


class Merges:
    """Merges that are applied to words.

    Args:
        merges: (m, 3) the ids a, b, ab of each merge, in the order they are applied.
    """

    def __init__(self, merges: np.ndarray):
        a, b, ab = merges.astype(np.int64).T
        self.rank = {key: i for i, key in enumerate(((a << SHIFT) + b).tolist())}
        self.result = ab.tolist()

    def __call__(self, word: list[int]) -> list[int]:
        """The symbols of a word after all merges."""
        if len(word) > MAX_SHORT:
            return self._all_at_once(word)
        return _one_by_one(word, self.rank, self.result)

    def _all_at_once(self, word: list[int]) -> list[int]:
        """Each merge everywhere in a long word, by NumPy."""
        symbols = Symbols(np.array(word), np.array([len(word)]))
        places = {o.key: o.places for o in symbols.pairs() if o.key in self.rank}
        queue = [(self.rank[key], key) for key in places]
        heapify(queue)
        while queue:
            rank, key = heappop(queue)
            _, come = symbols.merge(key, places.pop(key), self.result[rank])
            for other, _, at in come:
                if other not in self.rank:
                    continue
                if other in places:
                    places[other] = np.union1d(places[other], at)
                else:
                    places[other] = at
                    heappush(queue, (self.rank[other], other))
        return symbols.words()[0]


def _one_by_one(
    word: list[int], rank: Mapping[int, int], result: list[int]
) -> list[int]:
    """The earliest merge of a word, the leftmost first, until there is none."""
    n = len(word)
    queue = [
        (found, i)
        for i in range(n - 1)
        if (found := rank.get((word[i] << SHIFT) + word[i + 1])) is not None
    ]
    if not queue:
        return word
    heapify(queue)
    word = [
        *word,
        ENDED,
    ]  # it stands behind the last, and as number -1 before the first
    before, after = list(range(-1, n)), list(range(1, n + 1))
    while queue:
        found, i = heappop(queue)
        j = after[i]
        if rank.get((word[i] << SHIFT) + word[j]) != found:
            continue  # one of the two has been merged since
        word[i], word[j], k = result[found], ENDED, after[j]
        after[i], before[k] = k, i
        for left, right in ((before[i], i), (i, k)):
            other = rank.get((word[left] << SHIFT) + word[right])
            if other is not None:
                heappush(queue, (other, left))
    return [symbol for symbol in word if symbol != ENDED]
