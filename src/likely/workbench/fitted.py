"""Fitted models of a table: encoders, estimators, and the weights of their mixture."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute
from jaxtyping import Bool, Float, Int

from likely.base.predictor import Predictor
from likely.data.columns import strings
from likely.data.schema import Schema
from likely.families import Mixed
from likely.families.averaged import Averaged
from likely.families.joined import Joined
from likely.preprocess import TableEncoder
from likely.preprocess.table_columns import TableColumns, text_columns
from likely.text import TfidfVectorizer
from likely.workbench.unseen import KnownLevels

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers
MIN_LEVELS, MAX_ONE_HOT, MANY_LEVELS = 30, 300, 10**6
"""Levels of a category that always have a column; all one-hot columns; if not counted."""
ROWS_PER_LEVEL, NEWTON_ENTRIES = 3, 2e9
"""The rows for each one-hot column; the rows times the square of the columns."""
DATE_PARTS = 4
"""The number of parts that a date usually has."""
BLOCK_ENTRIES = 8_000_000
"""The size of the arrays in which rows with unseen levels are predicted."""
ENCODINGS = {
    "scaled": {"categories": "one-hot"},
    "compact": {"categories": "one-hot", "max_categories": MIN_LEVELS},
    "ordinal": {"categories": "ordinal", "scale": False},
}
"""Settings of encoders: one-hot with as many levels as `level_limit`, or with few."""
TEXT_ENCODING = "text"
"""The encoding that is like "scaled" with columns for the words of texts beside it."""
WORDS = r"(?u)\b\w+\b"
"""What a word is: also one of a single letter or digit."""
MIN_TEXTS = 2
"""The fewest texts of a word that has a column."""


def encoder_of(encoding: str, schema: Schema, n: int, words: int = 0) -> TableEncoder:
    """A new encoder for one of the `ENCODINGS`, or `TEXT_ENCODING`, of a table with n rows.

    Args:
        encoding: its name.
        schema: of the table.
        n: rows.
        words: the most words of a column of text that have a column each.
    """
    limit = level_limit(schema, n)
    if encoding == TEXT_ENCODING:
        most = max(words, 1)
        text = TfidfVectorizer(
            token_pattern=WORDS, min_df=MIN_TEXTS, max_features=most, sublinear_tf=True
        )
        return TableEncoder(schema=schema, max_categories=limit, text=text)
    settings = {"max_categories": limit, **ENCODINGS[encoding]}
    return TableEncoder(schema=schema, **settings)


class Texts(NamedTuple):
    """How much text there is in a table."""

    columns: tuple[str, ...] = ()
    """The columns of prose."""
    characters: int = 0
    """Of all their rows together."""

    @classmethod
    def of(cls, schema: Schema, frame: pa.Table) -> "Texts":
        """The columns of prose of a table."""
        names = text_columns(schema, frame.schema)
        lengths = [pc.sum(pc.utf8_length(strings(frame[name]))) for name in names]
        return cls(names, sum(length.as_py() or 0 for length in lengths))


def level_limit(schema: Schema, n: int) -> int | None:
    """The largest number of levels of a category that have a column each, or None.

    All columns together are few enough for the rows to determine them and for linear
    models to be quick.
    """
    sizes = sorted(_levels(schema).values())
    if not sizes or sizes[-1] <= MIN_LEVELS:
        return MIN_LEVELS
    left = min(MAX_ONE_HOT, n / ROWS_PER_LEVEL, (NEWTON_ENTRIES / n) ** 0.5)
    for k, size in enumerate(sizes):
        share = int(left // (len(sizes) - k))
        if size > max(share, MIN_LEVELS):
            return max(share, MIN_LEVELS)
        left -= size
    return None


def encoded_width(encoding: str, schema: Schema, n: int) -> int:
    """The number of columns after encoding, but for words, as far as the schema tells it."""
    if not any(column.used for column in schema):
        return 1
    columns = TableColumns.of(schema)
    numbers = len(columns.numbers) + DATE_PARTS * len(columns.dates)
    numbers += sum(schema[c].missing > 0 for c in (*columns.numbers, *columns.dates))
    levels = _levels(schema).values()
    if encoding == "ordinal":
        return max(1, numbers + len(levels))
    limit = MIN_LEVELS if encoding == "compact" else level_limit(schema, n)
    most = max(levels, default=0) if limit is None else limit
    return max(1, numbers + sum(min(size + 1, most) for size in levels))


def pooled_levels(schema: Schema, n: int) -> dict[str, tuple[int, int]]:
    """The columns with levels that share a one-hot column: all levels, and those kept."""
    limit = level_limit(schema, n)
    return {
        name: (size, limit - 1)
        for name, size in _levels(schema).items()
        if limit is not None and size > limit
    }


def _levels(schema: Schema) -> dict[str, int]:
    """The number of levels of each column of categories."""
    names = [c.name for c in schema if c.used and c.kind in ("code", "category")]
    return {name: schema[name].distinct or MANY_LEVELS for name in names}


def category_columns(encoder: TableEncoder) -> tuple[int, ...]:
    """The columns of an ordinal encoding that are categories."""
    first = len(encoder.fill_) + int(encoder.indicated_.sum())
    return tuple(range(first, first + len(encoder.words_)))


class AllClasses:
    """Class probabilities over all classes of a table, also those a fold has not seen."""

    classes = None

    def __init__(self, dist: Any, seen: np.ndarray, c: int):
        self.dist, self.seen, self.c = dist, seen, c

    def __len__(self) -> int:
        return len(self.dist)

    @property
    def probs(self) -> Float[np.ndarray, "n c"]:
        """(n, c) probabilities."""
        found = np.asarray(self.dist.probs, np.float64)
        if len(self.seen) == self.c:
            return found
        full = np.full((len(found), self.c), 1e-9)
        full[:, self.seen] = found
        return full / full.sum(1, keepdims=True)

    def log_prob(self, y: Any) -> np.ndarray:
        """The log-probability of each row's class, given as a code."""
        return np.log(self.probs[np.arange(len(self)), np.asarray(y).astype(int)])

    @property
    def mean(self) -> np.ndarray:
        """The mean of the one-hot class: its probabilities."""
        return self.probs

    def __getitem__(self, rows: Any) -> "AllClasses":
        return AllClasses(self.dist[rows], self.seen, self.c)


class EncodedRows(NamedTuple):
    """Rows as an array of numbers, and what unseen levels in them are replaced with."""

    X: Float[np.ndarray, "n d"]
    encoder: TableEncoder
    codes: Int[np.ndarray, "n c"]
    """The codes of the levels of categories."""
    known: KnownLevels | None
    """The levels of training; None for models that were saved without them."""

    @classmethod
    def of(
        cls, encoder: TableEncoder, frame: pa.Table, known: KnownLevels | None
    ) -> "EncodedRows":
        """The rows of a table."""
        return cls(encoder.transform(frame), encoder, encoder.level_codes(frame), known)

    def unseen(self) -> Bool[np.ndarray, " n"]:
        """Which rows have a level that training did not have."""
        if self.known is None:
            return np.zeros(len(self.X), bool)
        return np.asarray(self.known.unseen(self.codes).any(1))

    def stand_ins(self) -> Iterator[tuple[Int[np.ndarray, " m"], np.ndarray]]:
        """Blocks of rows with unseen levels, and copies of them with known levels.

        All rows of a block are copied once with each of the known levels in turn.
        """
        assert self.known is not None
        others, k = np.flatnonzero(self.unseen()), self.known.stand_ins
        size = max(1, BLOCK_ENTRIES // (k * self.X.shape[1]))
        for first in range(0, len(others), size):
            block = others[first : first + size]
            codes = self.known.replaced(self.codes[block])
            copies = np.tile(self.X[block], (k, 1))
            codes = codes.reshape(len(copies), -1)
            yield block, self.encoder.with_levels(copies, codes)


def distribution(estimator: Any, rows: EncodedRows, classes: int) -> Any:
    """p(y | x) of encoded rows; `classes` of the table, 0 if the target is a number.

    That of a row with unseen levels is the mixture over known levels in their place.
    """

    def predicted(X: np.ndarray) -> Any:
        dist = estimator.predict_dist(X)
        if not classes:
            return dist
        return AllClasses(dist, np.asarray(estimator.classes_).astype(int), classes)

    ordinary = np.flatnonzero(~rows.unseen())
    if len(ordinary) == len(rows.X):
        return predicted(rows.X)
    parts = [predicted(rows.X[ordinary])] if len(ordinary) else []
    places = [ordinary] if len(ordinary) else []
    for block, X in rows.stand_ins():
        parts.append(Averaged(predicted(X), len(X) // len(block)))
        places.append(block)
    return parts[0] if len(parts) == 1 else Joined(parts, places)


def means(estimator: Any, rows: EncodedRows, dist: Any) -> Float[np.ndarray, " n"]:
    """E[y | x] of each row of numbers, at the fitted parameters.

    A distribution that includes the uncertainty of η has a larger mean on a log scale,
    which may be infinite.
    """
    own = getattr(type(estimator), "_plug_in", Predictor._plug_in)
    if own is Predictor._plug_in:
        return np.asarray(dist.mean, np.float64)
    ordinary = np.flatnonzero(~rows.unseen())
    if len(ordinary) == len(rows.X):
        return np.asarray(estimator.predict(rows.X), np.float64)
    found = np.empty(len(rows.X))
    if len(ordinary):
        found[ordinary] = estimator.predict(rows.X[ordinary])
    for block, X in rows.stand_ins():
        found[block] = estimator.predict(X).reshape(-1, len(block)).mean(0)
    return found


class FittedMixture(NamedTuple):
    """Fitted estimators on encoded rows, mixed with weights that sum to 1."""

    encoders: dict[str, TableEncoder]
    parts: Sequence[tuple[str, Any]]
    """(encoding, estimator) of each part."""
    weights: Float[np.ndarray, " m"]
    classes: int = 0
    """The number of classes of the target; 0 for numbers."""
    known: KnownLevels | None = None
    """The levels of the categories, to average over where one is unseen."""

    def predict_dist(self, frame: pa.Table) -> Any:
        """p(y | x) of each row of a table."""
        return self._predicted(frame)[0]

    def predict_both(self, frame: pa.Table) -> tuple[Any, Float[np.ndarray, " n"]]:
        """p(y | x) and E[y | x] of each row of a table of which the target is a number."""
        dist, rows, dists = self._predicted(frame)
        pairs = zip(self.parts, dists, strict=True)
        each = [means(e, rows[name], own) for (name, e), own in pairs]
        return dist, np.tensordot(self.weights, np.stack(each), axes=1)

    def _predicted(self, frame: pa.Table) -> tuple[Any, dict[str, EncodedRows], list]:
        """p(y | x), the encoded rows, and the distributions of the parts."""
        rows = self.encoded(frame)
        dists = self._of_parts(rows)
        return self._mixed(dists), rows, dists

    def encoded(self, frame: pa.Table) -> dict[str, EncodedRows]:
        """The rows of a table in every encoding that a part needs."""
        used = {name for name, _ in self.parts}
        return {n: EncodedRows.of(self.encoders[n], frame, self.known) for n in used}

    def predict_encoded(self, rows: dict[str, EncodedRows]) -> Any:
        """p(y | x) of rows that are encoded already."""
        return self._mixed(self._of_parts(rows))

    def _of_parts(self, rows: dict[str, EncodedRows]) -> list:
        return [distribution(e, rows[name], self.classes) for name, e in self.parts]

    def _mixed(self, dists: list) -> Any:
        return dists[0] if len(dists) == 1 else Mixed(dists, self.weights)
