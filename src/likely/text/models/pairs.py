"""Pairs of a source and a target as people have them, checked, and as arrays of symbols.

A source is read to its end: its tokens, then the symbol *edge*. Before the first token of a target
stands the edge, too, and after the last; so a network that reads the target up to a token has to
write the next one, and in the end the edge. Places behind are `ABSENT`.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.text.models.token_lists import TokenLists
from likely.text.tokenizers.settings import tokenizer_of
from likely.text.tokenizers.texts import check_texts
from likely.typing import Batch

ABSENT = -1


class GivenPairs(NamedTuple):
    """Texts, or lists of tokens, of positive weight."""

    sources: list[Any]
    targets: list[Any]
    w: np.ndarray
    rows: np.ndarray
    """The number of each pair among all that were given."""
    names: tuple[str, str]
    """What errors call sources and targets."""

    @classmethod
    def of(
        cls,
        sources: Any,
        targets: Any,
        sample_weight: Any = None,
        names: tuple[str, str] = ("sources", "targets"),
    ) -> "GivenPairs":
        """The pairs that count.

        Args:
            sources: texts, or lists of tokens.
            targets: as many.
            sample_weight: how often each pair counts.
            names: what errors call them.
        """
        n = _length(sources, names[0])
        if n != _length(targets, names[1]):
            raise InputError(
                f"{names[0]} has {n} rows and {names[1]} {len(targets)}; give as many of one "
                "as of the other."
            )
        if not n:
            raise InputError(f"{names[0]} is empty; give at least one pair.")
        w = weights_of(sample_weight, n)
        read, written = rows_of(sources, names[0], w), rows_of(targets, names[1], w)
        kept = np.flatnonzero(w > 0)
        first, second = ([rows[i] for i in kept] for rows in (read, written))
        return cls(first, second, w[kept], kept, names)


def rows_of(X: Any, name: str, w: np.ndarray | None = None) -> list[Any]:
    """Texts as a list of str, or lists of tokens as a list of lists.

    Args:
        X: as it was given.
        name: what errors call it.
        w: how often each row counts; those of weight 0 may hold anything.
    """
    _length(X, name)
    here = range(len(X)) if w is None else np.flatnonzero(w > 0).tolist()
    values = list(X.to_numpy() if hasattr(X, "to_numpy") else X)
    first = next((values[i] for i in here), "")
    if not isinstance(first, list | tuple | np.ndarray):
        kept = set(here)
        return check_texts([v if i in kept else "" for i, v in enumerate(values)], name)
    rows: list[Any] = [[]] * len(values)
    for i in here:
        if (
            not isinstance(values[i], list | tuple | np.ndarray)
            or np.ndim(values[i]) != 1
        ):
            raise InputError(
                f"row {i} of {name} is no list of tokens, as the first row is; give texts, or "
                "lists of tokens."
            )
        rows[i] = [_token(token) for token in values[i]]
    return rows


def lexicon_of(setting: Any, rows: list[Any], w: np.ndarray, name: str) -> Any:
    """What gives numbers to texts, or to lists of tokens: fitted to these rows.

    Args:
        setting: "characters", ... or a tokenizer, for texts.
        rows: texts, or lists of tokens.
        w: how often each counts.
        name: what errors call them.
    """
    if isinstance(rows[0], list):
        return TokenLists.of(rows, name)
    return tokenizer_of(setting, rows, w)


def encoded(
    lexicon: Any, rows: list[Any], name: str, most: int, numbers: Any = None
) -> list[np.ndarray]:
    """The numbers of the tokens of each row, at most so many.

    Args:
        lexicon: from `lexicon_of`.
        rows: texts, or lists of tokens.
        name: what errors call them.
        most: the largest number of tokens.
        numbers: of the rows among all that were given.
    """
    check_kind(lexicon, rows, name)
    found = lexicon.encode_batch(rows)
    lengths = np.array([len(row) for row in found])
    if len(found) and lengths.max() > most:
        i = int(np.argmax(lengths > most))
        row = i if numbers is None else int(numbers[i])
        raise InputError(
            f"row {row} of {name} has {lengths[i]} tokens; the context of the model has room for "
            f"{most}: shorten it, or fit with a larger context."
        )
    return found


def check_kind(lexicon: Any, rows: list[Any], name: str) -> None:
    """Refuse texts where lists of tokens were learned, and the other way around.

    Args:
        lexicon: from `lexicon_of`.
        rows: texts, or lists of tokens.
        name: what errors call them.
    """
    of_tokens = isinstance(lexicon, TokenLists)
    if len(rows) and isinstance(rows[0], list) != of_tokens:
        kinds = ["texts", "lists of tokens"]
        known, now = kinds[of_tokens], kinds[not of_tokens]
        raise InputError(f"{name} are {now}; this model was fitted to {known}.")


class Pairs(NamedTuple):
    """Sources, and targets with what is to be written after each symbol that is read."""

    source: np.ndarray
    """(n, s) tokens and the edge."""
    read: np.ndarray
    """(n, t) the edge and the tokens of the target."""
    written: np.ndarray
    """(n, t) the tokens of the target and the edge."""

    @classmethod
    def of(
        cls,
        sources: list[np.ndarray],
        targets: list[np.ndarray],
        edges: tuple[int, int],
    ) -> "Pairs":
        """Pairs of tokens.

        Args:
            sources: tokens of each source.
            targets: tokens of each target.
            edges: the symbols of the edge of sources and of targets.
        """
        first, second = edges
        written = ended(targets, second)
        before = np.full((len(written), 1), second, np.int32)
        read = np.concatenate([before, written[:, :-1]], 1)
        return cls(ended(sources, first), np.where(read < 0, second, read), written)

    def batch(self, w: np.ndarray) -> Batch:
        """The pairs as rows: what is read of source and target, and what is written."""
        return Batch((self.source, self.read), self.written, w)


def ended(rows: list[np.ndarray], edge: int, length: int | None = None) -> np.ndarray:
    """(n, t) the tokens of each row, then the edge, then `ABSENT`.

    Args:
        rows: of tokens.
        edge: the symbol of the end.
        length: t; as many as the longest row needs where None.
    """
    longest = 1 + max(map(len, rows))
    out = np.full((len(rows), longest if length is None else length), ABSENT, np.int32)
    for i, row in enumerate(rows):
        out[i, : len(row)], out[i, len(row)] = row, edge
    return out


def _length(X: Any, name: str) -> int:
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise InputError(
            f"{name} is {type(X).__name__}; give a list of texts, such as [text]."
        )
    return len(X)


def _token(token: Any) -> Any:
    """A token as plain text or a plain whole number."""
    return token.item() if isinstance(token, np.generic) else token
