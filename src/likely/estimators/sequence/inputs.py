"""Rows that are sequences: their forms, their tokens, and how they become one array.

A sequence is a list of positions, each of which has d numbers or is a token. All rows
together are an array (n, T, d + 1) whose last channel says which positions are there; T is the
next of a few lengths, so that another longest row compiles nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from likely.base.rows import weights_of
from likely.base.settings import at_least
from likely.core.checks import InputError

TABLE, NUMBERS, TOKENS = "table", "numbers", "tokens"


class SequenceInputs:
    """Sequences of numbers or tokens; each channel is scaled over the positions present."""

    scaling: str = "present"

    def __init__(self, max_rows: int):
        self.max_rows: int | None = max_rows

    def learn(self, estimator: Any, X: Any, sample_weight: Any) -> None:
        """Set the form of the sequences, their longest length and their tokens."""
        X = _listed(X)
        form, estimator.vocabulary_ = form_of(X, estimator.tokens), None
        estimator.form_, estimator.channels_ = form, 1
        if form == TABLE:
            shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
            estimator.length_ = length_class(shape[1] if len(shape) > 1 else 1)
            return
        X, w = _positions(X), weights_of(sample_weight, len(X))
        rows = [row for row, weight in zip(X, w, strict=True) if weight > 0]
        found = sequences_of(rows, form)
        estimator.length_ = length_class(int(max(found.lengths)))
        if form == TOKENS:
            least = at_least("min_count", estimator.min_count, 1)
            known = known_tokens(estimator, words=found.values.dtype.kind == "U")
            if known is None:
                known = found.vocabulary(w[w > 0], least)
            estimator.vocabulary_ = known
        else:
            estimator.channels_ = found.values.shape[1]

    def table(self, estimator: Any, X: Any) -> Any:
        """X where it is a table; otherwise a table of as many rows, without content."""
        if estimator.form_ != TABLE:
            return np.zeros((len(X), estimator.channels_))
        X = _listed(X)
        if form_of(X, estimator.tokens) == TABLE:
            return X
        return np.zeros((len(X), estimator.n_features_in_))

    def shaped(
        self, estimator: Any, X: np.ndarray, given: Any, w: np.ndarray | None
    ) -> np.ndarray:
        """(n, T, d + 1), the last channel 1 where a position is there and 0 elsewhere."""
        given = _listed(given)
        table = estimator.form_ == TABLE
        if table and form_of(given, estimator.tokens) == TABLE:
            n, t = X.shape
            return padded(X.reshape(-1, 1), np.full(n, t))
        if w is not None and (w == 0).any():
            keep, given = int(np.argmax(w > 0)), _positions(given)
            given = [given[i if w[i] > 0 else keep] for i in range(len(given))]
        form = TOKENS if estimator.form_ == TOKENS else NUMBERS
        found = sequences_of(given, form)
        if form == TOKENS:
            return padded(found.codes(estimator.vocabulary_)[:, None], found.lengths)
        found.check(estimator.channels_)
        return padded(found.values, found.lengths)

    def shape(self, estimator: Any) -> tuple[int, ...]:
        """(T, d + 1) of the rows of the fit."""
        return estimator.length_, estimator.channels_ + 1

    def plain(self, estimator: Any) -> tuple[int, ...]:
        """The channel of tokens, which is not scaled."""
        return (0,) if estimator.form_ == TOKENS else ()


class Sequences(NamedTuple):
    """The positions of all rows, one after another."""

    values: np.ndarray
    """(positions, d) numbers, or (positions,) tokens."""
    lengths: np.ndarray
    """(n,) the number of positions of each row."""

    def vocabulary(self, w: np.ndarray, least: float | int) -> np.ndarray:
        """The tokens that occur at least so often, sorted; weights count as repetition."""
        tokens, codes = np.unique(self.values, return_inverse=True)
        counts = np.bincount(codes, np.repeat(w, self.lengths))
        return tokens[counts >= least]

    def codes(self, vocabulary: np.ndarray) -> np.ndarray:
        """The number of each token in the vocabulary from 1 on; 0 where it is unknown."""
        known = "words" if vocabulary.dtype.kind == "U" else "whole numbers"
        if self.values.dtype.kind != vocabulary.dtype.kind and len(vocabulary):
            raise InputError(
                f"X has tokens of type {self.values.dtype}, and the fit had {known}; give "
                "tokens of the same type."
            )
        if not len(vocabulary):
            return np.zeros(len(self.values))
        place = np.searchsorted(vocabulary, self.values)
        same = vocabulary[np.minimum(place, len(vocabulary) - 1)] == self.values
        return np.where(same, place + 1.0, 0.0)

    def check(self, channels: int) -> None:
        """Refuse another number of channels, and what is not finite, with its place."""
        d = self.values.shape[1]
        if d != channels:
            raise InputError(
                f"the positions of X have {d} numbers but those of the fit {channels}; give "
                "the same channels."
            )
        bad = ~np.isfinite(self.values)
        if bad.any():
            at, channel = np.argwhere(bad)[0]
            row = int(np.searchsorted(np.cumsum(self.lengths), at, side="right"))
            position = int(at - self.lengths[:row].sum())
            what = "NaN" if np.isnan(self.values[at, channel]) else "infinity"
            raise InputError(
                f"X contains {what} in row {row}, position {position}, channel {channel}; "
                "leave the position out, fill it, or give the row weight 0."
            )


def known_tokens(estimator: Any, *, words: bool) -> np.ndarray | None:
    """The tokens of the network that an estimator begins from, sorted; None where it has none.

    Args:
        estimator: with the setting `pretrained`.
        words: whether the tokens of the rows are words, or whole numbers.
    """
    source: Any = getattr(estimator, "pretrained", None)
    if hasattr(source, "sorted_tokens"):
        return source.sorted_tokens(words=words)
    return getattr(source, "vocabulary_", None)


def form_of(X: Any, tokens: Any) -> str:
    """Whether X is a table (n, t) of numbers, sequences of numbers, or sequences of tokens.

    Args:
        X: an array, a frame, or a list with a sequence for each row.
        tokens: whether whole numbers are tokens; "auto": those in lists are.
    """
    if not isinstance(X, list | tuple):
        ndim = getattr(X, "ndim", 2)
        is_array = isinstance(X, np.ndarray) and X.size and ndim == 2
        if ndim == 2 and (tokens is True or (is_array and isinstance(X.flat[0], str))):
            return TOKENS
        return NUMBERS if ndim == 3 else TABLE
    rows = [_array(row, i) for i, row in enumerate(X)]
    if any(row.ndim == 0 and row.dtype.kind == "U" for row in rows):
        raise InputError(
            "a row of X is a text; give a list of its tokens, such as text.split()."
        )
    if not any(row.ndim for row in rows):
        return TABLE
    if any(row.ndim > 1 for row in rows):
        return NUMBERS
    kinds = {row.dtype.kind for row in rows if row.size}
    whole = tokens is not False and kinds and kinds <= set("iu")
    if tokens is True or kinds & set("UO") or whole:
        return TOKENS
    arrays = any(isinstance(row, np.ndarray) for row in X)
    return NUMBERS if arrays or len({row.size for row in rows}) > 1 else TABLE


def _listed(X: Any) -> Any:
    """A series or an array of lists as a list; anything else as it is."""
    is_list = len(getattr(X, "shape", ())) == 1 and len(X) and np.ndim(X[0:1][0])
    return list(X) if is_list else X


def _positions(X: Any) -> Any:
    """The rows of a frame as an array; anything else as it is."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def _array(row: Any, number: int, kind: Any = None) -> np.ndarray:
    try:
        return np.asarray(row, kind)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the positions of row {number} of X are not all numbers, as many for each; "
            "give the row as an array (t, d), or as a list of t numbers or tokens."
        ) from error


def sequences_of(X: Any, form: str) -> Sequences:
    """The sequences of any form but a table.

    Args:
        X: an array (n, t) or (n, t, d), or a list with an array or list for each row.
        form: "numbers" or "tokens".
    """
    kind = None if form == TOKENS else np.float64
    rows = [_array(row, i, kind) for i, row in enumerate(_positions(X))]
    for i, row in enumerate(rows):
        if row.ndim < 1 or not len(row) or not row.size:
            raise InputError(
                f"row {i} of X is empty; give at least one position, or leave it out."
            )
    if form == TOKENS:
        return Sequences(_tokens(rows), np.array([len(row) for row in rows]))
    rows = [row[:, None] if row.ndim == 1 else row for row in rows]
    for i, row in enumerate(rows):
        if row.ndim != 2 or row.shape[1] != rows[0].shape[1]:
            raise InputError(
                f"the positions of row {i} have shape {row.shape[1:]}, those of row 0 "
                f"{rows[0].shape[1:]}; give each position the same number of channels."
            )
    return Sequences(np.concatenate(rows), np.array([len(row) for row in rows]))


def _tokens(rows: list[np.ndarray]) -> np.ndarray:
    for i, row in enumerate(rows):
        whole = row.dtype.kind in "iu" or (
            row.dtype.kind == "f" and (row == np.round(row)).all()
        )
        if row.ndim > 1 or not (row.dtype.kind == "U" or whole or _all_words(row)):
            raise InputError(
                f"row {i} of X holds {row.dtype} of shape {row.shape}; tokens are words or "
                "whole numbers, a list of them for each row."
            )
    words = [row.dtype.kind in "UO" for row in rows]
    if any(words) and not all(words):
        raise InputError(
            f"row {words.index(False)} of X has numbers and row {words.index(True)} words; "
            "give tokens of one type."
        )
    return np.concatenate([row.astype(str if any(words) else np.int64) for row in rows])


def _all_words(row: np.ndarray) -> bool:
    return row.dtype == object and all(isinstance(token, str) for token in row)


def length_class(t: int) -> int:
    """The next larger of a few lengths: multiples of 4 up to 16, then four in each octave."""
    if t <= 16:
        return 4 * -(-t // 4)
    step = 1 << (t - 1).bit_length() - 3
    return step * -(-t // step)


def padded(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(n, T, d + 1): the rows padded to the next length class, and their presence.

    Args:
        values: (positions, d) of all rows, one after another.
        lengths: (n,) the positions of each row.
    """
    T = length_class(int(lengths.max()))
    here = np.arange(T) < lengths[:, None]
    found = np.zeros((len(lengths), T, values.shape[1] + 1))
    found[..., -1] = here
    found[here, :-1] = values
    return found
