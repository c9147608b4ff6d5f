"""A corpus: texts as one array of word numbers, with the words and their counts."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from likely.core.checks import InputError
from likely.text.tokenizers.texts import check_texts

WORDS = re.compile(r"\w+(?:['’]\w+)*")
"""Letters, digits and apostrophes between them."""
Rows = list[Sequence[Any]]
"""The words of each text."""


class Corpus(NamedTuple):
    """Texts as word numbers, one text after the other."""

    words: list[Any]
    """The words, the most frequent first; of equally frequent ones the smaller."""
    counts: np.ndarray
    """(V,) how often each occurs, in units of weight."""
    tokens: np.ndarray
    """(n,) the number of each word of the texts; rarer words are left out."""
    starts: np.ndarray
    """(m + 1,) where in `tokens` each text begins, and the end of the last."""
    w: np.ndarray
    """(m,) how often each text counts."""

    @classmethod
    def of(cls, rows: Rows, w: np.ndarray, min_count: float | int = 1) -> "Corpus":
        """The corpus of some texts.

        Args:
            rows: the words of each text.
            w: how often each text counts.
            min_count: words that occur less often are left out.
        """
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        every = chain.from_iterable
        try:
            number = {word: i for i, word in enumerate(dict.fromkeys(every(rows)))}
        except TypeError:
            raise InputError(
                "a text is a list of lists; give each text as a list of words."
            ) from None
        found = map(number.__getitem__, every(rows))
        ids = np.fromiter(found, np.int64, int(lengths.sum()))
        words = [_word(word) for word in number]
        if len({type(word) for word in words}) > 1:
            raise InputError(
                "some words are text and some are numbers; give words of one kind."
            )
        counts = np.bincount(ids, np.repeat(w, lengths), len(words))
        kept = [i for i in np.flatnonzero(counts > 0) if counts[i] >= min_count]
        kept.sort(key=lambda i: (-counts[i], words[i]))
        place = np.full(len(words), -1, np.int32)
        place[kept] = np.arange(len(kept))
        tokens = place[ids]
        before = np.append(0, np.cumsum(tokens >= 0))
        starts = before[np.append(0, np.cumsum(lengths))]
        known = [words[i] for i in kept]
        return cls(known, counts[kept], tokens[tokens >= 0], starts, w)

    @property
    def text_of_token(self) -> np.ndarray:
        """(n,) the number of the text that each token is in."""
        return np.repeat(np.arange(len(self.w)), np.diff(self.starts))

    @property
    def token_weights(self) -> np.ndarray:
        """(n,) how often each token counts."""
        return np.repeat(self.w, np.diff(self.starts))

    def bag(self) -> csr_array:
        """(m, V) how often each word is in each text."""
        n, m = len(self.tokens), len(self.w)
        parts = np.ones(n), self.tokens, self.starts
        found = csr_array(parts, shape=(m, len(self.words)), copy=True)
        found.sum_duplicates()
        return found


def rows_of(
    X: Any,
    split: Callable[[str], list[str]],
    *,
    w: np.ndarray | None = None,
    name: str = "X",
) -> Rows:
    """The words of each text.

    Args:
        X: texts, or lists of words or of whole numbers; whole numbers alone are one text.
        split: from a text to its words.
        w: how often each text counts; those of weight 0 may hold anything.
        name: what the texts are called.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.ndim in (1, 2):
        return X.tolist() if X.ndim == 2 else [X.tolist()]
    if isinstance(X, list | tuple) and X and isinstance(X[0], Integral):
        return [list(X)]
    if _are_lists(X, w):
        return [_words(row, i, name) for i, row in enumerate(_present(X, w, []))]
    return [split(text) for text in check_texts(_present(X, w, ""), name)]


def splitter_of(tokenizer: Any, lowercase: bool) -> Callable[[str], list[str]]:
    """The function from a text to its words.

    Args:
        tokenizer: None for letters and digits, a function of a text, or a fitted tokenizer
            of `likely.text`.
        lowercase: whether upper and lower case are the same.
    """
    split: Any
    if tokenizer is None:
        split = WORDS.findall
    elif hasattr(tokenizer, "offsets"):
        split = lambda text: [text[a:b] for a, b in tokenizer.offsets(text)]  # noqa: E731
    elif callable(tokenizer):
        split = tokenizer
    else:
        raise InputError(
            f"tokenizer is {tokenizer!r}; give a function of a text, or a tokenizer."
        )
    return (lambda text: split(text.lower())) if lowercase else split


def _are_lists(X: Any, w: np.ndarray | None) -> bool:
    """Whether the first text that counts is a list of words."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        return False
    rows = X if w is None else (row for row, each in zip(X, w, strict=True) if each > 0)
    return isinstance(next(iter(rows), None), list | tuple | np.ndarray)


def _present(X: Any, w: np.ndarray | None, empty: Any) -> Any:
    """The rows; those of weight 0 are empty."""
    if w is None:
        return X
    return [row if each > 0 else empty for row, each in zip(X, w, strict=True)]


def _words(row: Any, number: int, name: str) -> Sequence[Any]:
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if not isinstance(row, list | tuple):
        raise InputError(
            f"row {number} of {name} is {row!r}, and others are lists of words; give all "
            "texts in the same way."
        )
    return row


def _word(word: Any) -> str | int:
    if isinstance(word, str):
        return str(word)
    if isinstance(word, Integral):
        return int(word)
    raise InputError(f"a text has the word {word!r}; words are text or whole numbers.")
