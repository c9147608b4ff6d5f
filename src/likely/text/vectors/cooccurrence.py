r"""Which words stand near each other, and how often.

The places i and j of a text are near if they are in

$$C_R = \{(i, j) : 1 \le |i - j| \le R\},$$

and the co-occurrence matrix counts, for each two words, such pairs of places. It is symmetric, and
nearly all of it is zero.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from likely.base.rows import weights_of
from likely.base.settings import at_least, one_of
from likely.text.vectors.corpus import Corpus, rows_of, splitter_of

DISTANCE_WEIGHTS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "flat": lambda d, R: np.ones(len(d)),
    "linear": lambda d, R: (R + 1 - d) / R,
    "harmonic": lambda d, R: 1 / d,
}
"""What a pair of words at the distance d counts, in a window of R."""


class Cooccurrence(NamedTuple):
    """How often words stand near each other."""

    words: list[Any]
    """The words; of texts of whole numbers, all numbers from 0 on."""
    counts: csr_array
    """(V, V) symmetric: the sum of weights of the pairs of places with these two words."""


def window_pairs(length: int, window: int) -> np.ndarray:
    """(m, 2) the pairs of places (i, j) of a text with 1 ≤ |i − j| ≤ window, sorted.

    Args:
        length: how many words the text has.
        window: the largest distance.
    """
    n = at_least("length", length, 0, whole=True)
    R = at_least("window", window, 1, whole=True)
    shifts = np.concatenate([np.arange(-R, 0), np.arange(1, R + 1)])
    j = np.arange(n)[:, None] + shifts
    i = np.broadcast_to(np.arange(n)[:, None], j.shape)
    inside = (j >= 0) & (j < n)
    return np.stack([i[inside], j[inside]], axis=1)


def cooccurrence(
    texts: Any,
    window: int = 5,
    *,
    distance_weights: str = "flat",
    min_count: float | int = 1,
    lowercase: bool = True,
    sample_weight: Any = None,
) -> Cooccurrence:
    """Count how often words stand near each other; windows do not reach into other texts.

    Args:
        texts: a list of texts, or of lists of words or whole numbers.
        window: the largest distance of two words that count as near.
        distance_weights: what a pair at the distance d counts: "flat" 1, "linear"
            (window + 1 − d)/window, "harmonic" 1/d.
        min_count: words that occur less often are left out.
        lowercase: whether upper and lower case of texts are the same.
        sample_weight: how often each text counts.
    """
    weights = distance_weights_of(distance_weights, window)
    w = None if sample_weight is None else weights_of(sample_weight, len(texts))
    rows = rows_of(texts, splitter_of(None, lowercase), w=w, name="texts")
    w = np.ones(len(rows)) if w is None else w
    corpus = Corpus.of(rows, w, at_least("min_count", min_count))
    counts, words = count_pairs(corpus, weights), corpus.words
    if words and isinstance(words[0], int):
        entries, place = counts.tocoo(), np.array(words)
        words = list(range(int(place.max()) + 1))
        moved = entries.data, (place[entries.row], place[entries.col])
        counts = coo_array(moved, shape=(len(words),) * 2).tocsr()
    return Cooccurrence(words, counts)


def distance_weights_of(name: Any, window: Any) -> np.ndarray:
    """(window,) what a pair at each distance counts."""
    R = at_least("window", window, 1, whole=True)
    rule = DISTANCE_WEIGHTS[one_of("distance_weights", name, DISTANCE_WEIGHTS)]
    return rule(np.arange(1, R + 1), R)


def count_pairs(corpus: Corpus, weights: np.ndarray) -> csr_array:
    """(V, V) the co-occurrence matrix of a corpus.

    Args:
        corpus: the texts.
        weights: (R,) what a pair at each distance counts.
    """
    V, total = len(corpus.words), None
    for d, (left, right, w) in enumerate(_shifts(corpus, len(weights))):
        pairs = coo_array((weights[d] * w, (left, right)), shape=(V, V)).tocsr()
        total = pairs if total is None else total + pairs
    total = csr_array((V, V)) if total is None else total
    return (total + total.T).tocsr()


def _shifts(corpus: Corpus, window: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Words and weights of all pairs of places at the distance 1, 2, ..."""
    text, w, tokens = corpus.text_of_token, corpus.token_weights, corpus.tokens
    for d in range(1, min(window, len(tokens) - 1) + 1):
        same = text[d:] == text[:-d]
        yield tokens[:-d][same], tokens[d:][same], w[d:][same]
