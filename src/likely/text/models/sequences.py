"""Sequences of tokens as people have them, checked, and laid out one after another.

A stream (one long sequence), an array (n, t), a list of sequences of different lengths, or
`Padded` become one array of symbols: before each sequence stands the symbol *begin*, which is
the number of tokens in the vocabulary. It says that nothing is known of what came before.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.evaluate.assignment import early_stopping_split
from likely.layers import Padded

MAX_VOCABULARY = 2**31 - 2
MIN_HELD_OUT_TOKENS = 8
"""Tokens of one sequence that are held out at least, or half of them."""


class Sequences(NamedTuple):
    """Some sequences of tokens and how often each counts."""

    rows: list[np.ndarray]
    w: np.ndarray
    stream: bool
    """Whether it is one long sequence, of which any place may be the beginning."""

    @classmethod
    def of(
        cls, X: Any, sample_weight: Any = None, name: str = "X", *, empty: bool = False
    ) -> "Sequences":
        """The sequences of positive weight, all of them whole numbers from 0 on.

        Args:
            X: a stream of tokens, an array (n, t), a list of sequences, or `Padded`.
            sample_weight: how often each sequence counts.
            name: what errors call X.
            empty: whether sequences may be empty.
        """
        rows, stream = _split(X, name, empty)
        if stream and sample_weight is not None:
            raise InputError(
                f"sample_weight is given, but {name} is one stream of tokens; weights are "
                "for several sequences: give an array (n, t) or a list of them."
            )
        w = weights_of(sample_weight, len(rows))
        kept = np.flatnonzero(w > 0).tolist()
        rows = [_tokens(rows[i], i, name) for i in kept]
        lengths = [len(row) for row in rows]
        if not empty and not min(lengths):
            number = kept[int(np.argmin(lengths))]
            raise InputError(f"sequence {number} of {name} is empty; leave it out.")
        return cls(rows, w[kept], stream)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) the number of tokens of each."""
        return np.array([len(row) for row in self.rows], np.int64)

    @property
    def largest(self) -> int:
        """The largest token."""
        return max(int(row.max()) for row in self.rows)

    def check(self, vocabulary: int, name: str = "X") -> "Sequences":
        """Refuse tokens outside of the vocabulary, and name the first."""
        for i, row in enumerate(self.rows):
            bad = np.flatnonzero(row >= vocabulary)
            if bad.size:
                where = "" if self.stream else f"sequence {i} of "
                raise InputError(
                    f"{where}{name} has the token {row[bad[0]]} at position {bad[0]}; the "
                    f"vocabulary has {vocabulary} tokens, 0 to {vocabulary - 1}."
                )
        return self

    def split(self, share: float, seed: Any) -> tuple["Sequences", "Sequences"]:
        """Sequences to learn from, and others to stop by.

        Of several sequences some are drawn; of one, the end is kept back.

        Args:
            share: of what is kept back.
            seed: of the draw.
        """
        if len(self.rows) > 1:
            parts = early_stopping_split(len(self.rows), share, seed)
            learn, stop = (
                Sequences([self.rows[i] for i in part], self.w[part], stream=False)
                for part in parts
            )
            return learn, stop
        (row,) = self.rows
        held = max(round(share * len(row)), min(MIN_HELD_OUT_TOKENS, len(row) // 2))
        if not 0 < share < 1:
            early_stopping_split(2, share, seed)  # which says what is wrong
        if not 0 < held < len(row):
            raise InputError(
                f"there is {len(row)} token, and one is needed to learn from and another to "
                "stop by; give more tokens, X_val, or early_stopping=False."
            )
        return (
            self._replace(rows=[row[:-held]]),
            self._replace(rows=[row[-held:]]),
        )

    def symbols(self, begin: int) -> tuple[np.ndarray, np.ndarray]:
        """(s,) all symbols, `begin` before each sequence; and (n,) where each begins."""
        parts = [np.append(begin, row) for row in self.rows]
        first = np.cumsum([0, *map(len, parts)])[:-1]
        return np.concatenate(parts).astype(np.int32), first


def _split(X: Any, name: str, empty: bool) -> tuple[list, bool]:
    """The sequences as they are given, and whether they are one stream."""
    if isinstance(X, Padded):
        values, present = np.asarray(X.values), np.asarray(X.present)
        if values.ndim != 2:
            raise InputError(f"{name} has shape {values.shape}; give tokens (n, t).")
        rows = [row[here] for row, here in zip(values, present, strict=True)]
        return rows, False
    if isinstance(X, str) or (len(X) and isinstance(X[0], str)):
        raise InputError(f"{name} is text; give tokens: whole numbers from 0 on.")
    if not hasattr(X, "shape"):
        nested = len(X) and np.ndim(X[0])
        if nested:
            return list(X), False
        X = np.asarray(X)
    if X.dtype == object and X.ndim == 1 and len(X) and np.ndim(X[0]):
        return list(X), False
    X = np.asarray(X)
    if X.ndim not in (1, 2):
        raise InputError(
            f"{name} has shape {X.shape}; give a stream of tokens, an array (n, t), or a "
            "list of sequences."
        )
    if not X.size and not (empty and len(X.shape) == 1):
        raise InputError(f"{name} is empty; give at least one token.")
    return ([X], True) if X.ndim == 1 else (list(X), False)


def _tokens(row: Any, number: int, name: str) -> np.ndarray:
    """One sequence as whole numbers, checked."""
    row = np.asarray(row)
    if row.ndim != 1:
        raise InputError(
            f"sequence {number} of {name} has shape {row.shape}; give a list of tokens."
        )
    if not len(row):
        return np.zeros(0, np.int32)
    if row.dtype.kind not in "iuf":
        raise InputError(
            f"sequence {number} of {name} holds {row.dtype}; tokens are whole numbers."
        )
    if row.dtype == np.int32 and row.min() >= 0:
        return row
    bad = np.flatnonzero(
        ~((row >= 0) & (row <= MAX_VOCABULARY) & (row == np.floor(row)))
    )
    if bad.size:
        raise InputError(
            f"sequence {number} of {name} has {row[bad[0]]} at position {bad[0]}; tokens "
            "are whole numbers from 0 on."
        )
    return row.astype(np.int32)
