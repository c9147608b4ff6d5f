"""Huffman's code: the shortest of all prefix-free symbol codes."""

import heapq
from typing import Any

from likely.information.codes.code import Code, canonical_words, symbols_of
from likely.information.probabilities import probabilities


def huffman_code(p: Any) -> Code:
    """Huffman's optimal code: at least the entropy, and less than a bit above it on average.

    The two least probable symbols are joined to one, again and again; each join is one more bit
    for what is below. Words are canonical: their lengths alone determine them. A single
    symbol has the empty word; symbols of probability 0 get words too.

    Args:
        p: probabilities, as an array or a mapping from symbols.

    Examples:
        >>> lk.information.huffman_code(np.array([0.5, 0.25, 0.25])).words
        {0: '0', 1: '10', 2: '11'}
    """
    values = probabilities(p).ravel()
    lengths = huffman_lengths(values.tolist())
    return Code(dict(zip(symbols_of(p), canonical_words(lengths), strict=True)))


def huffman_lengths(weights: list[float]) -> list[int]:
    """The length of each word of the shortest code, by joining the two lightest nodes.

    Of equally light ones, those that were made first are joined, so that words stay short.
    """
    n = len(weights)
    heap = [(weight, i) for i, weight in enumerate(weights)]
    heapq.heapify(heap)
    parents = [-1] * (2 * n - 1)
    for new in range(n, 2 * n - 1):
        (a, i), (b, j) = heapq.heappop(heap), heapq.heappop(heap)
        parents[i] = parents[j] = new
        heapq.heappush(heap, (a + b, new))
    depths = [0] * (2 * n - 1)
    for node in range(2 * n - 3, -1, -1):
        depths[node] = depths[parents[node]] + 1
    return depths[:n]
