"""n-grams: runs of n words that follow each other, and how often each occurs."""

from typing import Any

import numpy as np

from likely.base.settings import at_least
from likely.text.vectors.corpus import Corpus, rows_of, splitter_of


def ngrams(
    texts: Any, n: int = 2, *, min_count: int = 1, lowercase: bool = True
) -> dict[tuple[Any, ...], int]:
    """How often each run of n words occurs, the most frequent first.

    A run does not reach into another text. Of runs that are equally frequent, the one whose
    words are more frequent comes first.

    Args:
        texts: a list of texts, or of lists of words or whole numbers.
        n: the number of words in a run.
        min_count: runs that occur less often are left out.
        lowercase: whether upper and lower case of texts are the same.

    Examples:
        >>> lk.text.ngrams(["a b a b"])
        {('a', 'b'): 2, ('b', 'a'): 1}
    """
    n = at_least("n", n, 1, whole=True)
    rows = rows_of(texts, splitter_of(None, lowercase), name="texts")
    corpus = Corpus.of(rows, np.ones(len(rows)))
    tokens, V = corpus.tokens.astype(np.int64), max(len(corpus.words), 1)
    if len(tokens) < n:
        return {}
    codes = tokens
    for d in range(1, n):  # runs of d + 1 words, numbered anew so that codes stay small
        longer = codes[: len(tokens) - d] * V + tokens[d:]
        codes = np.unique(longer, return_inverse=True)[1]
    text = corpus.text_of_token
    begins = np.flatnonzero(text[n - 1 :] == text[: len(text) - n + 1])
    _, first, counts = np.unique(codes[begins], return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {
        tuple(corpus.words[t] for t in tokens[begins[first[k]] :][:n]): int(counts[k])
        for k in order
        if counts[k] >= min_count
    }
