"""Sentences of words with a label each, from lists of words or from texts with spans."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likely.core.checks import InputError
from likely.evaluate.spans import Span, span_labels
from likely.text.tokenizers.texts import check_texts
from likely.text.tokenizers.tokenizer import Tokenizer
from likely.text.tokenizers.words import WORD


class Sentence(NamedTuple):
    """A text and the words in it."""

    text: str
    offsets: np.ndarray
    """(words, 2) the characters [start, end) of each word."""
    raw: bool
    """Whether it was given as a text, and not as a list of words."""

    @classmethod
    def of_text(cls, text: str) -> "Sentence":
        """The words and punctuation marks of a text."""
        found = [match.span() for match in WORD.finditer(text)]
        return cls(text, np.array(found, int).reshape(-1, 2), True)

    @classmethod
    def of_words(cls, words: Any, row: int, name: str) -> "Sentence":
        """Words that are given, with one space between them."""
        for i, word in enumerate(words):
            if not isinstance(word, str) or not word.strip():
                raise InputError(
                    f"word {i} in row {row} of {name} is {word!r}; give texts with at least one "
                    "character that is no space."
                )
        ends = np.cumsum([len(word) + 1 for word in words], dtype=int) - 1
        starts = ends - [len(word) for word in words]
        return cls(" ".join(words), np.stack([starts, ends], 1).reshape(-1, 2), False)

    @property
    def words(self) -> list[str]:
        """The words."""
        return [self.text[a:b] for a, b in self.offsets]

    def first_tokens(self, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
        """The tokens of the text, and which of them is the first of each word."""
        tokens, spans = tokenizer.encode(self.text), tokenizer.offsets(self.text)
        if not len(self.offsets):
            return tokens, np.zeros(0, int)
        first = np.searchsorted(spans[:, 1], self.offsets[:, 0], side="right")
        if (np.diff(first) < 1).any() or first[-1] >= len(tokens):
            at = int(np.argmax(np.diff(first, append=first[-1]) < 1))
            raise InputError(
                f"the tokenizer has no token of its own for the word {self.words[at]!r} of "
                f"{self.text[:60]!r}; labels need one for each word: use another tokenizer."
            )
        return tokens, first

    def spans(self, spans: Sequence[Span]) -> list[Span]:
        """Spans of words as spans of characters, for a text that was given as one."""
        if not self.raw:
            return list(spans)
        ends = self.offsets
        return [(int(ends[a, 0]), int(ends[b - 1, 1]), kind) for a, b, kind in spans]

    def word_spans(self, spans: Sequence[Span], row: int) -> list[Span]:
        """Spans of characters as spans of words.

        Args:
            spans: (start, end, kind) of characters.
            row: of the text, to say which it is.
        """
        return [self._word_span(span, row) for span in spans]

    def _word_span(self, span: Span, row: int) -> Span:
        start, end, kind = span
        if not 0 <= start < end <= len(self.text):
            raise InputError(
                f"the span {tuple(span)} of row {row} is not inside its text of "
                f"{len(self.text)} characters; give 0 <= start < end <= length."
            )
        inside = (self.offsets[:, 0] < end) & (self.offsets[:, 1] > start)
        held = np.flatnonzero(inside)
        if not len(held):
            raise InputError(f"the span {tuple(span)} of row {row} holds no word.")
        first, last = self.offsets[held[0]], self.offsets[held[-1]]
        for cut, word in ((start > first[0], first), (end < last[1], last)):
            if cut:
                raise InputError(
                    f"the span {tuple(span)} of row {row} cuts the word "
                    f"{self.text[word[0] : word[1]]!r} ({word[0]} to {word[1]}); labels are for "
                    "whole words: move the span, or give lists of words."
                )
        return int(held[0]), int(held[-1]) + 1, kind


def sentences_of(X: Any, name: str = "X") -> list[Sentence]:
    """The sentences of a list of texts, or of a list of lists of words.

    Args:
        X: all of one kind.
        name: what they are called.
    """
    if isinstance(X, str | bytes):
        check_texts(X, name)
    rows: list[Any] = list(X)
    kinds = {isinstance(row, str | bytes) for row in rows}
    if len(kinds) > 1:
        raise InputError(
            f"{name} has texts and lists of words; give all rows in one of these forms."
        )
    if kinds == {True} or any(not np.iterable(row) for row in rows):
        return [Sentence.of_text(text) for text in check_texts(rows, name)]
    return [Sentence.of_words(list(row), i, name) for i, row in enumerate(rows)]


def labels_of(sentences: Sequence[Sentence], y: Any, name: str = "y") -> list[list]:
    """The label of each word of each sentence.

    Args:
        sentences: texts, or words.
        y: for each sentence a list of labels, or of spans (start, end, kind): of characters where
            texts were given, else of words.
        name: what they are called.
    """
    if len(y) != len(sentences):
        raise InputError(
            f"X has {len(sentences)} rows but {name} has {len(y)}; give the labels of each row."
        )
    for i, row in enumerate(y):
        if isinstance(row, str | bytes) or not np.iterable(row):
            raise InputError(
                f"row {i} of {name} is {row!r}; give a list of labels, or of spans "
                "(start, end, kind)."
            )
    rows = [list(row) for row in y]
    as_spans = any(_is_span(each) for row in rows for each in row)
    nothing = not any(rows) and any(len(each.offsets) for each in sentences)
    found = []
    for i, (each, row) in enumerate(zip(sentences, rows, strict=True)):
        if as_spans or nothing:
            found.append(_of_spans(each, row, i, name))
            continue
        if len(row) != len(each.offsets):
            raise InputError(
                f"row {i} has {len(each.offsets)} words and {len(row)} labels in {name}; give one "
                "label for each word, or spans (start, end, kind)."
            )
        found.append(row)
    return found


def _of_spans(sentence: Sentence, row: list, number: int, name: str) -> list[str]:
    odd = next((each for each in row if not _is_span(each)), None)
    if odd is not None:
        raise InputError(
            f"row {number} of {name} has {odd!r} where others have spans; give spans "
            "(start, end, kind) in all rows."
        )
    spans = sentence.word_spans(row, number) if sentence.raw else row
    try:
        return span_labels(spans, len(sentence.offsets))
    except InputError as error:
        raise InputError(f"in row {number} of {name}, {error}") from None


def _is_span(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 3
