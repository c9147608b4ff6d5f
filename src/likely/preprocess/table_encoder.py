"""A table as numbers, each column by its kind.

    number      filled with the mean, scaled to mean 0 and variance 1
    boolean     0 and 1, filled with the mean
    date        year, month, weekday, ..., then like numbers
    code        as a category
    category    one-hot; or ordinal, or the mean target
    text        left out, like constants and identifiers

Where numbers were missing a column says so. Everything is learned from the rows that
have weight, chunk by chunk, so a file may be larger than memory.
"""

from collections.abc import Mapping
from typing import Any, no_type_check

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.data.frames import code_words, is_file, to_arrow, weighted_chunks
from likely.data.schema import Schema
from likely.preprocess.blocks import Writer, blocks, write_blocks
from likely.preprocess.date_parts import DateParts
from likely.preprocess.levels import Tally, tally
from likely.preprocess.one_hot_encoder import OneHotEncoder
from likely.preprocess.ordinal_encoder import OrdinalEncoder
from likely.preprocess.statistics import Moments, deviation, moments
from likely.preprocess.table_columns import TableColumns
from likely.preprocess.target_encoder import TargetEncoder

ENCODERS = ("one-hot", "ordinal", "target")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Frames and files to an array of numbers, driven by a `Schema`.

    Args:
        schema: the kinds of the columns; inferred in `fit` where None.
        kinds: kinds that are known, by column, over those of the schema.
        categories: "one-hot", "ordinal" or "target" (the mean target, cross-fitted).
        max_categories: columns that a one-hot category may have; rare values share one.
        scale: whether numbers and parts of dates are scaled.
        add_indicator: whether a column says where numbers were missing.

    Attributes:
        schema_: the schema in use.
        numbers_, dates_, words_: the columns that are read as such.
        dropped_: the columns that are left out.
        fill_, center_, scale_, indicated_: of each number, boolean and part of a date.
        parts_: the fitted `DateParts`, or None.
        encoder_: the fitted encoder of the categories, or None.
        seen_: the words that were seen in each category.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        schema: Schema | None = None,
        kinds: Mapping[str, str] | None = None,
        categories: str = "one-hot",
        max_categories: int | None = 50,
        scale: bool = True,
        add_indicator: bool = True,
    ):
        self.schema = schema
        self.kinds = kinds
        self.categories = categories
        self.max_categories = max_categories
        self.scale = scale
        self.add_indicator = add_indicator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "TableEncoder":
        """Learn from the rows that have weight.

        Args:
            X: a pandas, polars or Arrow frame, or a `TableFile`.
            y: the target, for `categories="target"`.
            sample_weight: how often each row counts.
        """
        X = X if is_file(X) else code_words(to_arrow(X))
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn and encode; mean targets of each fold come from the others."""
        X = code_words(to_arrow(X))
        targets = self._fit(X, y, sample_weight)
        out = self._encoded(X)
        if targets is not None:
            out[:, -targets.shape[1] :] = targets
        return out

    def transform(self, X: Any) -> np.ndarray:
        """(n, features) of numbers, without NaN."""
        check_is_fitted(self)
        return self._encoded(to_arrow(X))

    def tally(self, X: Any) -> dict[str, dict[str, int]]:
        """How many values of each column are missing, and how many unseen in `fit`."""
        check_is_fitted(self)
        return self._columns().count(to_arrow(X), self.seen_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """`age`, `sold_year`, `age_missing`, `town_Bern`."""
        check_is_fitted(self)
        names = list(self.numbers_)
        if self.parts_ is not None:
            names += list(self.parts_.get_feature_names_out(self.dates_))
        marks = [f"{name}_missing" for name in np.array(names)[self.indicated_]]
        words = []
        if self.encoder_ is not None:
            words = list(np.asarray(self.encoder_.get_feature_names_out(self.words_)))
        return np.array([*names, *marks, *words], dtype=object)

    # Learning --------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
        """Learn everything; mean targets, cross-fitted, come back."""
        if self.categories not in ENCODERS:
            known = ", ".join(ENCODERS)
            raise InputError(f"categories is {self.categories!r}; give one of {known}.")
        self._choose_columns(X, sample_weight)
        self._fit_dates(X, sample_weight)
        self._fit_blocks(X, sample_weight)
        if self.categories != "target" or not self.words_:
            return None
        if y is None:
            raise InputError("categories='target' needs y; give it to fit.")
        self.encoder_ = TargetEncoder()
        words = to_arrow(X).select(self.words_)
        return self.encoder_.fit_transform(words, y, sample_weight)

    def _choose_columns(self, X: Any, sample_weight: Any) -> None:
        """Settle the schema, and which columns are read as what."""
        schema = self.schema
        if schema is None:
            schema = Schema.infer(X, sample_weight=sample_weight)
        self.schema_ = schema.with_kinds(self.kinds or {})
        self.numbers_, self.dates_, self.words_ = TableColumns.of(self.schema_)
        self.dropped_ = [column.name for column in self.schema_ if not column.used]
        self.feature_names_in_ = np.array(self.schema_.names, dtype=object)
        self.n_features_in_ = len(self.schema_)

    def _fit_dates(self, X: Any, sample_weight: Any) -> None:
        self.parts_ = None
        if self.dates_:
            read = self._columns().read_dates
            chunks = weighted_chunks(X, sample_weight)
            self.parts_ = DateParts().fit_chunks(read(chunk) for chunk, _ in chunks)

    def _fit_blocks(self, X: Any, sample_weight: Any) -> None:
        """Moments of the numbers, and the words with their weights, in one pass."""
        columns = self._columns()
        found: Moments | None = None
        gone: Any = False
        words = [Tally({}, 0.0) for _ in self.words_]
        for chunk, w in weighted_chunks(X, sample_weight):
            numbers = list(columns.read_numbers(chunk, self.parts_))
            for rows in blocks(len(chunk)):
                parts = [column[rows] for column in numbers]
                block = (
                    np.stack(parts, axis=1) if parts else np.empty((len(w[rows]), 0))
                )
                here, gone = moments(block, w[rows]), gone | np.isnan(block).any(axis=0)
                found = here if found is None else found.merge(here)
            seen = [tally(levels, w) for levels in columns.read_words(chunk)]
            words = [old.merge(new) for old, new in zip(words, seen, strict=True)]
        assert found is not None
        self._settle_numbers(found, gone)
        self._settle_words(words)

    def _settle_numbers(self, found: Moments, gone: np.ndarray) -> None:
        kinds = {column.name: column.kind for column in self.schema_}
        plain = [kinds[name] == "boolean" for name in self.numbers_]
        plain = np.array(plain + [False] * (len(found.mean) - len(plain)), bool)
        if not self.scale:
            plain[:] = True
        self.fill_ = found.mean
        self.center_ = np.where(plain, 0.0, found.mean)
        self.scale_ = np.where(plain, 1.0, deviation(found))
        self.indicated_ = gone & self.add_indicator

    def _settle_words(self, words: list[Tally]) -> None:
        self.encoder_ = None
        self.seen_ = [list(found.words) for found in words]
        if words and self.categories == "one-hot":
            encoder = OneHotEncoder(max_categories=self.max_categories)
            self.encoder_ = encoder.fit_tallies(words)
        elif words and self.categories == "ordinal":
            encoder = OrdinalEncoder(encoded_missing_value=-1.0)
            self.encoder_ = encoder.fit_tallies(words)

    # Encoding --------------------------------------------------------------------

    def _columns(self) -> TableColumns:
        return TableColumns(self.numbers_, self.dates_, self.words_)

    def _encoded(self, table: pa.Table) -> np.ndarray:
        columns = self._columns()
        k = len(self.fill_) + int(self.indicated_.sum())
        width = 0 if self.encoder_ is None else int(self.encoder_.widths().sum())
        out = np.zeros((len(table), k + width))
        numbers = list(columns.read_numbers(table, self.parts_))
        writers = [self._number_writer(numbers)]
        if self.encoder_ is not None:
            write = self.encoder_.writer(columns.read_words(table))
            writers.append(lambda rows, block: write(rows, block[:, k:]))
        write_blocks(out, *writers)
        return out

    def _number_writer(self, columns: list[np.ndarray]) -> Writer:
        """What writes scaled numbers, and after them where they were missing."""
        marks = len(columns) + np.cumsum(self.indicated_) - 1

        def write(rows: slice, block: np.ndarray) -> None:
            for j, column in enumerate(columns):
                values = column[rows]
                gone = np.isnan(values)
                values = np.where(gone, self.fill_[j], values)
                block[:, j] = (values - self.center_[j]) / self.scale_[j]
                if self.indicated_[j]:
                    block[:, marks[j]] = gone

        return write
