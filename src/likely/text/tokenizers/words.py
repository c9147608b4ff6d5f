"""Words and punctuation marks as tokens."""

from collections import Counter
from typing import Any, no_type_check

import numpy as np
import regex

from likely.base.settings import at_least, store
from likely.text.tokenizers.texts import weighted_texts
from likely.text.tokenizers.tokenizer import UNKNOWN, Tokenizer, special_ids

WORD = regex.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
"""A word, with apostrophes inside, or one punctuation mark; spaces are between tokens."""


class WordTokenizer(Tokenizer):
    """One token for each word, and for each punctuation mark, of the texts of `fit`.

    Other words become "<unk>". A decoded text has one space between tokens, whatever there
    was before; its tokens are the same.

    Args:
        lowercase: whether words that differ in case only are one token.
        min_count: how often a word has to occur to be a token.
        special_tokens: what is never part of ordinary text, such as ("<pad>", "<mask>"); they
            have the first ids, then come "<unk>", and the words, frequent ones first.

    Attributes:
        special_tokens_: the id of each special token.
        words_: the known words.

    Examples:
        >>> tokenizer = lk.WordTokenizer().fit(["a red house", "a blue house"])
        >>> tokenizer.decode(tokenizer.encode("a red house"))
        'a red house'
    """

    lowercase: Any
    min_count: Any
    words_: list[str]

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, lowercase=False, min_count=1, special_tokens=()):
        store(self, locals())

    def fit(
        self, texts: Any, y: Any = None, sample_weight: Any = None
    ) -> "WordTokenizer":
        texts, w = weighted_texts(texts, sample_weight)
        least = at_least("min_count", self.min_count)
        self.special_tokens_ = special_ids(self.special_tokens, UNKNOWN)
        counts: Counter[str] = Counter()
        for text, weight in zip(texts, w, strict=True):
            for word, count in Counter(self._words(text)).items():
                counts[word] += weight * count  # pyright: ignore
        kept = [(-n, word) for word, n in counts.items() if n >= least]
        self.words_ = [word for _, word in sorted(kept)]
        return self

    @property
    def tokens_(self) -> list[str]:
        """What each id stands for."""
        self._check_fitted()
        return [*self.special_tokens_, *self.words_]

    def _words(self, text: str) -> list[str]:
        words = WORD.findall(text)
        return [word.lower() for word in words] if self.lowercase else words

    def _encode(self, text: str) -> np.ndarray:
        ids = self._table(self.words_, self._ids)
        unknown = self.special_tokens_[UNKNOWN]
        words = self._words(text)
        return np.array([ids.get(word, unknown) for word in words], np.int32)

    def _ids(self) -> dict[str, int]:
        """The id of each known word."""
        first = len(self.special_tokens_)
        return {word: first + i for i, word in enumerate(self.words_)}

    def _spans(self, text: str) -> np.ndarray:
        spans = [match.span() for match in WORD.finditer(text)]
        return np.array(spans, int).reshape(-1, 2)

    def decode(self, tokens: Any, *, special: bool = True) -> str:
        ids = self._check_ids(tokens)
        if not special:
            ids = ids[~self._is_special(ids)]
        names = self.tokens_
        return " ".join([names[i] for i in ids.tolist()])
