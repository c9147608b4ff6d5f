"""Texts as sequences of tokens and back: what a model with a tokenizer reads and writes.

Several texts end, each with a token of its own behind those of the tokenizer; one long text is a
stream, of which any place may be the beginning and which has no end.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.layers import Padded
from likely.text.models.sequences import Sequences
from likely.text.tokenizers.settings import is_fitted, tokenizer_of
from likely.text.tokenizers.texts import check_texts
from likely.text.tokenizers.tokenizer import UNKNOWN
from likely.text.tokenizers.utf8 import to_bytes

DEFAULT_TOKENIZER = "characters"
REPLACEMENT = "\ufffd"
"""What stands for bytes that are no character, or not yet one."""


def is_text(X: Any) -> bool:
    """Whether X is a text, or several, and not tokens."""
    if isinstance(X, str | bytes):
        return True
    if isinstance(X, Padded) or not isinstance(X, Iterable):
        return False
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if kind in "biufc" or getattr(X, "ndim", 1) > 2:
        return False
    rows: Any = X.to_numpy() if hasattr(X, "to_numpy") else X  # pyright: ignore
    rows = rows.ravel() if isinstance(rows, np.ndarray) else rows
    return any(isinstance(row, str | bytes) for row in rows)


class TextTokens(NamedTuple):
    """How a model reads and writes texts."""

    tokenizer: Any
    """A `Tokenizer`, or None for a model of tokens."""
    end: int | None = None
    """The token that ends a text, or None where texts have no end."""

    @classmethod
    def learned(cls, setting: Any, X: Any, sample_weight: Any = None) -> "TextTokens":
        """The tokenizer of a setting, fitted to the texts unless it is fitted already.

        Args:
            setting: of `tokenizer_of`, or None.
            X: texts or tokens.
            sample_weight: how often each text counts.
        """
        if is_text(X):
            texts = cls.texts(X, sample_weight)
            made = DEFAULT_TOKENIZER if setting is None else setting
            tokenizer = tokenizer_of(made, texts, sample_weight)
            alone = isinstance(X, str | bytes)
            return cls(tokenizer, None if alone else tokenizer.n_tokens_)
        if isinstance(X, list | tuple) and not X:
            raise InputError("X is empty; give at least one text, or tokens.")
        tokenizer = None if setting is None else tokenizer_of(setting)
        if tokenizer is not None and not is_fitted(tokenizer):
            raise InputError(
                "X holds tokens, and the tokenizer has no vocabulary; give texts, a fitted "
                "tokenizer, or tokenizer=None."
            )
        return cls(tokenizer)

    @staticmethod
    def texts(X: Any, sample_weight: Any = None, name: str = "X") -> list[str]:
        """The texts, of which those of weight 0 are empty."""
        if isinstance(X, str | bytes):
            return check_texts([X], name)
        if sample_weight is not None:
            w = weights_of(sample_weight, len(X))
            X = [row if each > 0 else "" for row, each in zip(X, w, strict=True)]
        return check_texts(X, name)

    def check(self, X: Any) -> "TextTokens":
        """Refuse texts where only tokens can be read.

        Args:
            X: texts or tokens.
        """
        if self.tokenizer is None and is_text(X):
            raise InputError(
                "X holds texts, and pretrained is a model of tokens, without a tokenizer; give "
                "tokens."
            )
        return self

    @property
    def n_tokens(self) -> int | None:
        """The tokens of texts, with the one that ends them; None without a tokenizer."""
        if self.tokenizer is None:
            return None
        return self.tokenizer.n_tokens_ + (self.end is not None)

    # Reading ----------------------------------------------------------------------------

    def sequences(
        self,
        X: Any,
        sample_weight: Any = None,
        name: str = "X",
        *,
        ended: bool = True,
        empty: bool = True,
    ) -> Sequences:
        """The sequences of texts, or of tokens as they are.

        Args:
            X: texts or tokens.
            sample_weight: how often each counts.
            name: what errors call X.
            ended: whether texts have their end.
            empty: whether texts may have no token.
        """
        if self.tokenizer is None or not is_text(X):
            return Sequences.of(X, sample_weight, name)
        rows: list[Any] = self.tokenizer.encode_batch(
            self.texts(X, sample_weight, name)
        )
        if ended and self.end is not None:
            rows = [np.append(row, self.end).astype(np.int32) for row in rows]
        alone = isinstance(X, str | bytes)
        return Sequences.of(
            rows[0] if alone else rows, sample_weight, name, empty=empty
        )

    def prompts(self, X: Any, *, name: str = "prompt", unknown: bool) -> Sequences:
        """The sequences of prompts, which have no end.

        Args:
            X: texts or tokens.
            name: what errors call X.
            unknown: whether characters or words that the tokenizer does not know are allowed.
        """
        if self.tokenizer is None or not is_text(X):
            return Sequences.of(X, name=name, empty=True)
        texts = self.texts(X, name=name)
        if not unknown:
            for i, text in enumerate(texts):
                where = name if isinstance(X, str | bytes) else f"{name} {i}"
                self._check_known(text, where)
        return self.sequences(X, name=name, ended=False)

    def unknown(self, sequences: Sequences) -> bool:
        """Whether some text has a token that stands for what is not known."""
        token = self._unknown
        return token is not None and any((row == token).any() for row in sequences.rows)

    @property
    def _unknown(self) -> int | None:
        found = None if self.tokenizer is None else self.tokenizer.special_tokens_
        return None if found is None else found.get(UNKNOWN)

    def _check_known(self, text: str, name: str) -> None:
        tokens = self.tokenizer.encode(text)
        if self._unknown is None or not (tokens == self._unknown).any():
            return
        at = int(np.argmax(tokens == self._unknown))
        start, end = self.tokenizer.offsets(text)[at].tolist()
        raise InputError(
            f"{name} has {text[start:end]!r} at character {start}, which was not in the "
            'texts of the fit; leave it out, or fit with tokenizer="bytes", which knows '
            "all texts."
        )

    # Writing ----------------------------------------------------------------------------

    def text(self, prompt: np.ndarray, tokens: np.ndarray) -> str:
        """The text of tokens after those of a prompt, up to the end."""
        tokens = tokens[: _length(tokens, self.end)]
        decode = self.tokenizer.decode
        before = decode(prompt)
        return decode(np.concatenate([prompt, tokens]))[len(before) :]

    def pieces(
        self, prompts: list[np.ndarray], columns: Iterable[np.ndarray]
    ) -> Iterator[list[str]]:
        """The texts after prompts, as their tokens come: for each text what is new.

        The bytes of a character come together, when the last of them is known.

        Args:
            prompts: the tokens before.
            columns: (k,) the next token of each of k texts, one after another.
        """
        rows = [_Growing(self, prompt) for prompt in prompts]
        for column in columns:
            yield [
                row.piece(int(token)) for row, token in zip(rows, column, strict=True)
            ]
            if all(row.ended for row in rows):
                break
        rest = [row.rest() for row in rows]
        if any(rest):
            yield rest

    def n_bytes(self, X: Any) -> int:
        """The bytes of texts in UTF-8."""
        return sum(len(to_bytes(text)) for text in self.texts(X))


class _Growing:
    """A text that grows by tokens."""

    def __init__(self, reader: TextTokens, prompt: np.ndarray):
        self.reader, self.tokens = reader, prompt.tolist()
        self.start, self.shown, self.ended = 0, len(prompt), False

    def piece(self, token: int) -> str:
        """What one more token adds to the text, unless it ends within a character."""
        self.ended = self.ended or token == self.reader.end
        if self.ended:
            return ""
        self.tokens.append(token)
        found = self.rest()
        if found.endswith(REPLACEMENT):
            return ""
        self.start, self.shown = self.shown, len(self.tokens)
        return found

    def rest(self) -> str:
        """What has not been given yet."""
        decode = self.reader.tokenizer.decode
        before = decode(np.array(self.tokens[self.start : self.shown], int))
        return decode(np.array(self.tokens[self.start :], int))[len(before) :]


def _length(tokens: np.ndarray, end: int | None) -> int:
    """The number of tokens before the end."""
    ends = np.flatnonzero(tokens == (-1 if end is None else end))
    return int(ends[0]) if ends.size else len(tokens)
