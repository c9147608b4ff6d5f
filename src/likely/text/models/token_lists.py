"""Lists of tokens in the place of texts: what the tokens of a corpus are, by number."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from likely.core.checks import InputError


@dataclasses.dataclass(frozen=True)
class TokenLists:
    """The tokens of a corpus of token lists, as a tokenizer has those of texts.

    Attributes:
        tokens: text or whole numbers, sorted.
    """

    tokens: tuple[Any, ...]

    @classmethod
    def of(cls, rows: Iterable[Sequence[Any]], name: str) -> "TokenLists":
        """The tokens of these rows."""
        seen = {token for row in rows for token in row}
        for token in seen:
            if not isinstance(token, str | int):
                raise InputError(
                    f"{name} has the token {token!r}; tokens are text or whole numbers."
                )
        if len({isinstance(token, str) for token in seen}) > 1:
            raise InputError(
                f"{name} has tokens that are text and others that are not."
            )
        return cls(tuple(sorted(seen)))

    @property
    def n_tokens_(self) -> int:
        """The number of tokens, with one for all that are not known."""
        return len(self.tokens) + 1

    def encode_batch(self, rows: Iterable[Sequence[Any]]) -> list[np.ndarray]:
        """The number of each token; that of an unknown one is the last."""
        number = {token: i for i, token in enumerate(self.tokens)}
        unknown = len(self.tokens)
        return [
            np.array([number.get(token, unknown) for token in row], np.int32)
            for row in rows
        ]

    def decode(self, numbers: Any) -> list[Any]:
        """The tokens of numbers; an unknown one is None."""
        known = (*self.tokens, None)
        return [known[i] for i in numbers]
