"""What all tokenizers share: special tokens, batches, names and ids, files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Literal, TypeVar, overload

import numpy as np
import regex
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from likely.base.settings import at_least
from likely.core.checks import InputError
from likely.files import save
from likely.layers import Padded
from likely.text.tokenizers.texts import check_text, check_texts

UNKNOWN = "<unk>"
"""The token of characters and words that were not seen in `fit`."""
T = TypeVar("T")


class Tokenizer(BaseEstimator, ABC):
    """Texts as sequences of ids, 0 to `n_tokens_` − 1, and back.

    You write `fit`, which sets `special_tokens_`, and `tokens_`, `_encode`, `_spans` and
    `decode`; you get the rest.

    Attributes:
        special_tokens_: the id of each special token. They have the first ids, and ordinary
            text never becomes one of them, unless `encode(text, special=True)`.
    """

    special_tokens: Any
    special_tokens_: dict[str, int]

    # What a tokenizer has of its own ----------------------------------------------------

    @abstractmethod
    def fit(self, texts: Any, y: Any = None, sample_weight: Any = None) -> "Tokenizer":
        """Learn the vocabulary.

        Args:
            texts: a list of strings.
            y: not used.
            sample_weight: how often each text counts; 0 is as if it were not there.
        """

    @property
    @abstractmethod
    def tokens_(self) -> list[Any]:
        """What each id stands for: text, or bytes where tokens are made of bytes."""

    @abstractmethod
    def _encode(self, text: str) -> np.ndarray:
        """(t,) the ids of a text without special tokens."""

    @abstractmethod
    def _spans(self, text: str) -> np.ndarray:
        """(t, 2) the characters [start, end) of each token of `_encode`."""

    @abstractmethod
    def decode(self, tokens: Any, *, special: bool = True) -> str:
        """The text of a sequence of ids.

        Args:
            tokens: the ids.
            special: whether special tokens are part of the text, or left out.
        """

    # What follows -----------------------------------------------------------------------

    @property
    def n_tokens_(self) -> int:
        """The number of tokens, special ones included."""
        return len(self.tokens_)

    def id_of(self, token: str | bytes) -> int:
        """The id of a token; of a special one where an ordinary one looks the same.

        Args:
            token: as in `tokens_`.
        """
        self._check_fitted()
        if isinstance(token, str) and token in self.special_tokens_:
            return self.special_tokens_[token]
        tokens = self.tokens_
        if token in tokens:
            return tokens.index(token)
        raise InputError(f"{token!r} is none of the {len(tokens)} tokens.")

    def encode(self, text: Any, *, special: bool = False) -> np.ndarray:
        """(t,) int32, the ids of the tokens of a text.

        Args:
            text: a string.
            special: whether the text may contain special tokens; where one is part of
                another, the leftmost and then the longest counts.
        """
        self._check_fitted()
        text = check_text(text)
        if not special:
            return self._encode(text).astype(np.int32, copy=False)
        parts = [
            self._encode(text[start:end]) if token is None else [token]
            for start, end, token in self._segments(text)
        ]
        return np.concatenate([[], *parts]).astype(np.int32)

    def offsets(self, text: Any, *, special: bool = False) -> np.ndarray:
        """(t, 2) the characters [start, end) of the text that each token covers.

        A character of several bytes may be covered by several tokens.

        Args:
            text: a string.
            special: as in `encode`.
        """
        self._check_fitted()
        text = check_text(text)
        if not special:
            return self._spans(text)
        parts = [
            start + self._spans(text[start:end]) if token is None else [[start, end]]
            for start, end, token in self._segments(text)
        ]
        return np.concatenate([np.zeros((0, 2), int), *parts])

    @overload
    def encode_batch(
        self,
        texts: Any,
        *,
        max_length: int | None = None,
        pad: Literal[False] = False,
        special: bool = False,
    ) -> list[np.ndarray]: ...
    @overload
    def encode_batch(
        self,
        texts: Any,
        *,
        max_length: int | None = None,
        pad: Literal[True],
        special: bool = False,
    ) -> Padded: ...
    def encode_batch(
        self,
        texts: Any,
        *,
        max_length: int | None = None,
        pad: bool = False,
        special: bool = False,
    ) -> list[np.ndarray] | Padded:
        """The ids of each text: a list of arrays, or one array with a mask.

        Args:
            texts: a list of strings.
            max_length: how many tokens of each text are kept, from its beginning.
            pad: whether to return `layers.Padded` as long as the longest text; what is absent
                is the id of "<pad>" if there is such a special token, else 0.
            special: as in `encode`.
        """
        if max_length is not None:
            max_length = at_least("max_length", max_length, 1, whole=True)
        rows = [
            self.encode(text, special=special)[:max_length]
            for text in check_texts(texts)
        ]
        if not pad:
            return rows
        lengths = np.array([len(row) for row in rows], int)
        present = np.arange(max(1, lengths.max(initial=0))) < lengths[:, None]
        filler = self.special_tokens_.get("<pad>", 0)
        values = np.full(present.shape, filler, np.int32)
        values[present] = np.concatenate([np.zeros(0, np.int32), *rows])
        return Padded(values, present)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    # For those who write tokenizers -----------------------------------------------------

    def _check_fitted(self) -> None:
        """Refuse to go on without a vocabulary; quicker than scikit-learn's check."""
        if not hasattr(self, "special_tokens_"):
            check_is_fitted(self)

    def _table(self, vocabulary: Any, make: Callable[[], T]) -> T:
        """What is made of a vocabulary once, and made again after another `fit`.

        It is no part of the state: files and copies hold the vocabulary alone.
        """
        known, table = vars(self).get("_lookup", (None, None))
        if table is None or known is not vocabulary:
            table = make()
            self._lookup = vocabulary, table
        return table

    def __getstate__(self) -> dict[str, Any]:
        """What files, pickles and copies hold: all but the lookup table."""
        state: Any = super().__getstate__()
        return {k: v for k, v in state.items() if k != "_lookup"}

    def _segments(self, text: str) -> list[tuple[int, int, int | None]]:
        """Parts of a text: where each begins and ends, and its id if it is special."""
        if not self.special_tokens_:
            return [(0, len(text), None)] if text else []
        longest_first = sorted(self.special_tokens_, key=len, reverse=True)
        pattern = "|".join(map(regex.escape, longest_first))
        found, end = [], 0
        for match in regex.finditer(pattern, text):
            if match.start() > end:
                found.append((end, match.start(), None))
            end = match.end()
            found.append((match.start(), end, self.special_tokens_[match.group()]))
        return [*found, (end, len(text), None)] if end < len(text) else found

    def _check_ids(self, tokens: Any) -> np.ndarray:
        """(t,) the ids of a sequence, each of which there is."""
        self._check_fitted()
        tokens = np.asarray(tokens)
        if tokens.size == 0:
            return np.zeros(0, int)
        if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
            raise InputError(
                f"tokens has shape {tokens.shape} and dtype {tokens.dtype}; give one "
                "sequence of whole numbers."
            )
        count = self.n_tokens_
        bad = np.flatnonzero((tokens < 0) | (tokens >= count))
        if bad.size:
            raise InputError(
                f"token {bad[0]} is {tokens[bad[0]]}; the ids are 0 to {count - 1}."
            )
        return tokens.astype(int)

    def _is_special(self, tokens: np.ndarray) -> np.ndarray:
        """Which ids are those of special tokens."""
        return np.isin(tokens, list(self.special_tokens_.values()))


def special_ids(special_tokens: Any, *more: str) -> dict[str, int]:
    """The first ids: those of the special tokens, checked, and of those always needed.

    Args:
        special_tokens: a sequence of strings.
        more: special tokens that come last unless they are among them.
    """
    if isinstance(special_tokens, str):
        raise InputError(
            f"special_tokens is {special_tokens!r}; give a tuple of strings."
        )
    given = list(special_tokens)
    for i, token in enumerate(given):
        if not isinstance(token, str) or not token:
            raise InputError(
                f"special token {i} is {token!r}; give a string that is not empty."
            )
        if token in given[:i]:
            raise InputError(f"the special token {token!r} is given twice.")
    given += [token for token in more if token not in given]
    return {token: i for i, token in enumerate(given)}
