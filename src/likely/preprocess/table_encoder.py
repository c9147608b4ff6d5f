"""A table as an array of numbers, each column encoded by its kind.

    number      filled with the mean, scaled to mean 0 and variance 1
    boolean     0 and 1, filled with the mean
    date        year, month, weekday, ..., then like numbers
    code        as a category
    category    one-hot; or ordinal, or the mean target
    text        left out, like constants and identifiers

Indicator columns mark where numbers were missing. Everything is learned from the rows
that have weight, chunk by chunk, so a file may be larger than memory.
"""

from collections.abc import Mapping
from typing import Any, no_type_check

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.data.columns import Levels
from likely.data.frames import encode_text, is_file, to_arrow, weighted_chunks
from likely.data.schema import Schema
from likely.preprocess.blocks import Writer, blocks, write_blocks
from likely.preprocess.date_parts import DateParts
from likely.preprocess.levels import Tally, codes_among, tally
from likely.preprocess.one_hot_encoder import OneHotEncoder
from likely.preprocess.ordinal_encoder import OrdinalEncoder
from likely.preprocess.statistics import ColumnMoments, column_moments, deviation
from likely.preprocess.table_columns import TableColumns
from likely.preprocess.target_encoder import TargetEncoder
from likely.preprocess.transformer import AbstractTransformer

ENCODERS = ("one-hot", "ordinal", "target")


class TableEncoder(AbstractTransformer):
    """Encodes frames and files as an array of numbers, guided by a `Schema`.

    The array has no NaN. Names are those of the columns, or `sold_year` for a part of a
    date, `age_missing` for an indicator and `town_Bern` for a category.

    Args:
        schema: the kinds of the columns; inferred in `fit` where None.
        kinds: kinds of some columns, which override those of the schema.
        categories: "one-hot", "ordinal" or "target" (the mean target, cross-fitted).
        max_categories: the largest number of one-hot columns of a feature; rare
            categories share one.
        scale: whether numbers and parts of dates are scaled.
        add_indicator: whether indicator columns mark where numbers were missing.

    Attributes:
        schema_: the schema in use.
        numbers_, dates_, words_: the columns that are read as numbers, dates and
            categories.
        dropped_: the columns that are left out.
        fill_, center_, scale_, indicated_: for each number, boolean and part of a date,
            what missing values are filled with, how it is scaled, and whether it has an
            indicator.
        parts_: the fitted `DateParts`, or None.
        encoder_: the fitted encoder of the categories, or None.
        seen_: the categories that were seen in each feature.
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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from a pandas, polars or Arrow frame, or a `TableFile`."""
        self._learn(X if is_file(X) else encode_text(to_arrow(X)), y, sample_weight)

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn and encode; mean targets of each fold come from the other folds."""
        X = encode_text(to_arrow(X))
        targets = self._learn(X, y, sample_weight)
        out = self._encoded(X)
        if targets is not None:
            out[:, -targets.shape[1] :] = targets
        return out

    def _transform(self, X: Any) -> np.ndarray:
        return self._encoded(to_arrow(X))

    def tally(self, X: Any) -> dict[str, dict[str, int]]:
        """How many values of each column are missing, and how many unseen in `fit`."""
        check_is_fitted(self)
        return self._columns().count(to_arrow(X), self.seen_)

    def level_codes(self, X: Any) -> Int[np.ndarray, "n c"]:
        """The index of each category among those seen in `fit`; MISSING or UNKNOWN else."""
        check_is_fitted(self)
        levels = self._columns().read_categories(to_arrow(X))
        codes = [*map(codes_among, levels, self.seen_)]
        return np.stack(codes, axis=1) if codes else np.zeros((len(X), 0), np.int32)

    def with_levels(
        self, encoded: Float[np.ndarray, "n d"], codes: Int[np.ndarray, "n c"]
    ) -> Float[np.ndarray, "n d"]:
        """Encoded rows with other categories, given by the codes of `level_codes`."""
        out = np.array(encoded)
        if self.encoder_ is not None:
            k = self._first_category()
            out[:, k:] = 0.0
            pairs = zip(codes.T, self.seen_, strict=True)
            write = self.encoder_.writer([Levels(own, seen) for own, seen in pairs])
            write_blocks(out[:, k:], write)
        return out

    def places(self) -> dict[str, list[int]]:
        """The encoded columns that come from each column of the table."""
        check_is_fitted(self)
        names = list(self.numbers_)
        if self.parts_ is not None:
            names += np.repeat(self.dates_, self.parts_.kept_.sum(1)).tolist()
        names += [names[j] for j in np.flatnonzero(self.indicated_)]
        if self.encoder_ is not None:
            names += np.repeat(self.words_, self.encoder_.widths()).tolist()
        found: dict[str, list[int]] = {}
        for j, name in enumerate(names):
            found.setdefault(name, []).append(j)
        return found

    def _names_out(self, names: list[str]) -> list[str]:
        numbers = list(self.numbers_)
        if self.parts_ is not None:
            numbers += list(self.parts_.get_feature_names_out(self.dates_))
        indicators = [f"{numbers[j]}_missing" for j in np.flatnonzero(self.indicated_)]
        categories = []
        if self.encoder_ is not None:
            categories = list(self.encoder_.get_feature_names_out(self.words_))
        return [*numbers, *indicators, *categories]

    # Learning --------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
        """Learn everything; returns the cross-fitted mean targets, if there are any."""
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
        categories = to_arrow(X).select(self.words_)
        return self.encoder_.fit_transform(categories, y, sample_weight)

    def _choose_columns(self, X: Any, sample_weight: Any) -> None:
        """Decide on the schema, and on what each column is read as."""
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
        """Learn moments of the numbers and weights of the categories in one pass."""
        columns = self._columns()
        moments: ColumnMoments | None = None
        missing: Any = False
        tallies = [Tally({}, 0.0) for _ in self.words_]
        for chunk, w in weighted_chunks(X, sample_weight):
            numbers = list(columns.read_numbers(chunk, self.parts_))
            for rows in blocks(len(chunk)):
                block = np.empty((len(w[rows]), len(numbers)))
                for j, column in enumerate(numbers):
                    block[:, j] = column[rows]
                missing = missing | np.isnan(block).any(axis=0)
                found = column_moments(block, w[rows])
                moments = found if moments is None else moments.merge(found)
            counted = [tally(levels, w) for levels in columns.read_categories(chunk)]
            tallies = [*map(Tally.merge, tallies, counted)]
        assert moments is not None
        self._store_scaling(moments, missing)
        self._store_encoder(tallies)

    def _store_scaling(self, moments: ColumnMoments, missing: np.ndarray) -> None:
        kinds = {column.name: column.kind for column in self.schema_}
        scaled = np.full(len(moments.mean), bool(self.scale))
        scaled[
            [j for j, name in enumerate(self.numbers_) if kinds[name] == "boolean"]
        ] = 0
        self.fill_ = moments.mean
        self.center_ = np.where(scaled, moments.mean, 0.0)
        self.scale_ = np.where(scaled, deviation(moments), 1.0)
        self.indicated_ = missing & self.add_indicator

    def _store_encoder(self, tallies: list[Tally]) -> None:
        self.encoder_ = None
        self.seen_ = [list(found.weights) for found in tallies]
        if tallies and self.categories != "target":
            encoder = OrdinalEncoder(encoded_missing_value=-1.0)
            if self.categories == "one-hot":
                encoder = OneHotEncoder(max_categories=self.max_categories)
            self.encoder_ = encoder.fit_tallies(tallies)

    # Encoding --------------------------------------------------------------------

    def _columns(self) -> TableColumns:
        return TableColumns(self.numbers_, self.dates_, self.words_)

    def _first_category(self) -> int:
        """The first column that encodes categories, after numbers and indicators."""
        return len(self.fill_) + int(self.indicated_.sum())

    def _encoded(self, table: pa.Table) -> np.ndarray:
        columns = self._columns()
        k = self._first_category()
        width = 0 if self.encoder_ is None else int(self.encoder_.widths().sum())
        out = np.zeros((len(table), k + width))
        numbers = list(columns.read_numbers(table, self.parts_))
        writers = [self._number_writer(numbers)]
        if self.encoder_ is not None:
            write = self.encoder_.writer(columns.read_categories(table))
            writers.append(lambda rows, block: write(rows, block[:, k:]))
        write_blocks(out, *writers)
        return out

    def _number_writer(self, columns: list[np.ndarray]) -> Writer:
        """A function that writes scaled numbers, and their indicators after them."""
        indicators = len(columns) + np.cumsum(self.indicated_) - 1

        def write(rows: slice, block: np.ndarray) -> None:
            for j, column in enumerate(columns):
                values = column[rows]
                missing = np.isnan(values)
                values = np.where(missing, self.fill_[j], values)
                block[:, j] = (values - self.center_[j]) / self.scale_[j]
                if self.indicated_[j]:
                    block[:, indicators[j]] = missing

        return write
