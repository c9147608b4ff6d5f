"""A table as an array of numbers, each column encoded by its kind.

    number      filled with the mean, scaled to mean 0 and variance 1
    boolean     0 and 1, filled with the mean
    date        year, month, weekday, ..., then like numbers
    code        as a category
    category    one-hot; or ordinal, or the mean target
    text        left out, like constants and identifiers; or a column for each word

Indicator columns mark where numbers were missing. Everything is learned from the rows
that have weight, chunk by chunk, so a file may be larger than memory.
"""

from collections.abc import Mapping
from typing import Any, no_type_check

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from sklearn.base import clone
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
from likely.preprocess.table_columns import TableColumns, text_columns
from likely.preprocess.target_encoder import TargetEncoder
from likely.preprocess.transformer import AbstractTransformer

ENCODERS = ("one-hot", "ordinal", "target")


class TableEncoder(AbstractTransformer):
    """Encodes frames and files as an array of numbers, guided by a `Schema`.

    The array has no NaN. Names are those of the columns, or `sold_year` for a part of a
    date, `age_missing` for an indicator, `town_Bern` for a category and `review_good` for a word.

    Args:
        schema: the kinds of the columns; inferred in `fit` where None.
        kinds: kinds of some columns, which override those of the schema.
        categories: "one-hot", "ordinal" or "target" (the mean target, cross-fitted).
        max_categories: the largest number of one-hot columns of a feature; rare
            categories share one.
        scale: whether numbers and parts of dates are scaled.
        add_indicator: whether indicator columns mark where numbers were missing.
        text: what makes columns of each column of text, such as `TfidfVectorizer`; None leaves
            them out. Where numbers are scaled, words are multiplied by the root of how many a
            text has on average, so that one counts about as much as a category.

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
        texts_: the columns of text whose words are used.
        vectorizers_: the fitted `text` of each.
        text_scale_: what the words of each are multiplied by.

    Examples:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "color": ["red", "blue", "red"]})
        >>> encoder = lk.preprocess.TableEncoder().fit(frame)
        >>> print(list(encoder.get_feature_names_out()))
        ['size', 'color_blue', 'color_red']
    """

    text: Any
    texts_: list[str]
    vectorizers_: list[Any]
    text_scale_: list[float]

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
        text: Any = None,
    ):
        self.schema = schema
        self.kinds = kinds
        self.categories = categories
        self.max_categories = max_categories
        self.scale = scale
        self.add_indicator = add_indicator
        self.text = text

    @staticmethod
    def __upgrade__(fields: dict) -> dict:
        """What an encoder learned before texts had words."""
        if "schema_" not in fields or "texts_" in fields:
            return fields
        return fields | {"texts_": [], "vectorizers_": [], "text_scale_": []}

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
            k = self._first_category()
            out[:, k : k + targets.shape[1]] = targets
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
            categories = out[:, k : self._first_word()]
            categories[:] = 0.0
            pairs = zip(codes.T, self.seen_, strict=True)
            write = self.encoder_.writer([Levels(own, seen) for own, seen in pairs])
            write_blocks(categories, write)
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
        for name, words in zip(self.texts_, self._text_words(), strict=True):
            names += [name] * len(words)
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
        pairs = zip(self.texts_, self._text_words(), strict=True)
        words = [f"{name}_{word}" for name, own in pairs for word in own]
        return [*numbers, *indicators, *categories, *words]

    # Learning --------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
        """Learn everything; returns the cross-fitted mean targets, if there are any."""
        if self.categories not in ENCODERS:
            known = ", ".join(ENCODERS)
            raise InputError(f"categories is {self.categories!r}; give one of {known}.")
        self._choose_columns(X, sample_weight)
        self._fit_dates(X, sample_weight)
        self._fit_blocks(X, sample_weight)
        self._fit_texts(X, sample_weight)
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
        texts: list[str] = []
        if self.text is not None:
            chunk, _ = next(iter(weighted_chunks(X, sample_weight)))
            texts = list(text_columns(self.schema_, chunk.schema))
        columns = TableColumns.of(self.schema_, texts)
        self.numbers_, self.dates_, self.words_, self.texts_ = columns
        left = [column.name for column in self.schema_ if not column.used]
        self.dropped_ = [name for name in left if name not in texts]
        self.feature_names_in_ = np.array(self.schema_.names, dtype=object)
        self.n_features_in_ = len(self.schema_)

    def _fit_dates(self, X: Any, sample_weight: Any) -> None:
        self.parts_ = None
        if self.dates_:
            read = self._columns().read_dates
            chunks = weighted_chunks(X, sample_weight)
            self.parts_ = DateParts().fit_chunks(read(chunk) for chunk, _ in chunks)

    def _fit_texts(self, X: Any, sample_weight: Any) -> None:
        """Learn the words of each column of text."""
        self.vectorizers_, self.text_scale_ = [], []
        if not self.texts_:
            return
        read = self._columns().read_texts
        chunks = [(read(chunk), w) for chunk, w in weighted_chunks(X, sample_weight)]
        w = np.concatenate([w for _, w in chunks])
        for j in range(len(self.texts_)):
            texts = [text for columns, _ in chunks for text in columns[j]]
            vectorizer: Any = clone(self.text)
            try:
                entries = vectorizer.fit_transform(texts, sample_weight=w)
            except InputError:  # no word in enough texts
                vectorizer, count = None, 1.0
            else:
                count = float(w @ np.diff(entries.indptr) / w.sum())
            scale = max(count, 1.0) ** 0.5 if self.scale else 1.0
            self.vectorizers_.append(vectorizer)
            self.text_scale_.append(scale)

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
        return TableColumns(self.numbers_, self.dates_, self.words_, self.texts_)

    def _first_category(self) -> int:
        """The first column that encodes categories, after numbers and indicators."""
        return len(self.fill_) + int(self.indicated_.sum())

    def _first_word(self) -> int:
        """The first column that encodes a word of a text, after the categories."""
        width = 0 if self.encoder_ is None else int(self.encoder_.widths().sum())
        return self._first_category() + width

    def _text_words(self) -> list[list[str]]:
        """The words of each column of text that have a column."""
        return [
            [] if fitted is None else list(fitted.get_feature_names_out())
            for fitted in self.vectorizers_
        ]

    def _encoded(self, table: pa.Table) -> np.ndarray:
        columns = self._columns()
        k, first = self._first_category(), self._first_word()
        widths = [len(words) for words in self._text_words()]
        out = np.zeros((len(table), first + sum(widths)))
        numbers = list(columns.read_numbers(table, self.parts_))
        writers = [self._number_writer(numbers)]
        if self.encoder_ is not None:
            write = self.encoder_.writer(columns.read_categories(table))
            writers.append(lambda rows, block: write(rows, block[:, k:first]))
        write_blocks(out, *writers)
        texts = columns.read_texts(table)
        parts = zip(self.vectorizers_, self.text_scale_, texts, widths, strict=True)
        for vectorizer, scale, own, width in parts:
            if width:
                found = scale * vectorizer.transform(own)
                out[:, first : first + width] = found.toarray()
            first += width
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
