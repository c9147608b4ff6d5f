"""Categories as columns of 0 and 1."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.data.columns import Levels
from likely.preprocess.blocks import Writer, write_blocks
from likely.preprocess.levels import (
    MISSING,
    UNKNOWN,
    Tally,
    fit_levels,
    in_order,
    place,
    tally,
    use_levels,
)
from likely.preprocess.rows import names_in

UNKNOWNS = ("infrequent_if_exist", "ignore", "error")


class OneHotEncoder(TransformerMixin, BaseEstimator):
    """One column for each category; rare ones share a column, so does what is missing.

    Missing values have a column of their own where some were seen; a row of zeros
    stands for a category that was not.

    Args:
        max_categories: at most so many columns for a feature, those of most weight and
            one for the others; None for all.
        min_frequency: categories of less weight than this join the others.
        drop: "first" leaves the first column of each feature out, for linear models
            without penalty; None keeps all.
        handle_unknown: what becomes of a category not seen in `fit`:
            "infrequent_if_exist" joins the others, or zeros; "ignore" zeros; "error".

    Attributes:
        categories_: the words that have a column, in order, for each feature.
        grouped_: whether a feature has a column for the others, (d,) of bool.
        missing_: whether it has one for what is missing, (d,) of bool.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        max_categories: int | None = None,
        min_frequency: float | None = None,
        drop: str | None = None,
        handle_unknown: str = "infrequent_if_exist",
    ):
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.drop = drop
        self.handle_unknown = handle_unknown

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OneHotEncoder":
        """Learn the categories of the rows that have weight."""
        columns, w = fit_levels(self, X, sample_weight)
        return self.fit_tallies([tally(levels, w) for levels in columns])

    def fit_tallies(self, tallies: Sequence[Tally]) -> "OneHotEncoder":
        """Learn from the weight of each word, column by column."""
        self._check_parameters()
        kept = [self._kept(found) for found in tallies]
        self.categories_ = kept
        self.grouped_ = np.array(
            [
                len(words) < len(found.words)
                for words, found in zip(kept, tallies, strict=True)
            ]
        )
        self.missing_ = np.array([found.missing > 0 for found in tallies])
        return self

    def _check_parameters(self) -> None:
        if self.handle_unknown not in UNKNOWNS:
            known = ", ".join(UNKNOWNS)
            raise InputError(
                f"handle_unknown is {self.handle_unknown!r}; give one of {known}."
            )
        if self.drop not in (None, "first"):
            raise InputError(f"drop is {self.drop!r}; give 'first' or None.")
        if self.max_categories is not None and self.max_categories < 1:
            raise InputError("max_categories must be at least 1, or None.")

    def _kept(self, found: Tally) -> list[str]:
        """The words with a column of their own."""
        words = in_order(list(found.words))
        if self.min_frequency is not None:
            words = [word for word in words if found.words[word] >= self.min_frequency]
        limit = self.max_categories
        if limit is not None and len(found.words) > limit and len(words) >= limit:
            heavy = sorted(words, key=lambda word: -found.words[word])[: limit - 1]
            words = [word for word in words if word in set(heavy)]
        return words

    def transform(self, X: Any) -> np.ndarray:
        """(n, columns) of 0.0 and 1.0."""
        check_is_fitted(self)
        columns = use_levels(self, X)
        out = np.zeros((len(columns[0].codes), int(self.widths().sum())))
        write_blocks(out, self.writer(columns))
        return out

    def widths(self) -> np.ndarray:
        """(d,) how many columns each feature becomes."""
        words = np.array([len(words) for words in self.categories_])
        return words + self.grouped_ + self.missing_ - (self.drop == "first")

    def writer(self, columns: Sequence[Levels]) -> Writer:
        """What sets the ones in a block of zeros."""
        starts = np.cumsum(self.widths()) - self.widths()
        places = []
        for j, levels in enumerate(columns):
            where = self._columns(j, levels)
            whole = not len(where) or where.min() >= 0
            places.append((starts[j], where, whole))

        def write(rows: slice, block: np.ndarray) -> None:
            every = np.arange(len(block))
            for start, where, whole in places:
                here = where[rows]
                if whole:
                    block[every, start + here] = 1.0
                else:
                    known = here >= 0
                    block[every[known], start + here[known]] = 1.0

        return write

    def _columns(self, j: int, levels: Levels) -> np.ndarray:
        """(n,) the column of each row, negative for none."""
        words = self.categories_[j]
        others = len(words) if self.grouped_[j] else UNKNOWN
        where = place(levels, words)
        if self.handle_unknown == "error" and not self.grouped_[j]:
            self._refuse(j, levels, where)
        if self.handle_unknown != "ignore":
            where = np.where(where == UNKNOWN, others, where)
        if self.missing_[j]:
            last = len(words) + int(self.grouped_[j])
            where = np.where(where == MISSING, last, where)
        return where - (self.drop == "first")

    def _refuse(self, j: int, levels: Levels, where: np.ndarray) -> None:
        unknown = np.flatnonzero(where == UNKNOWN)
        if len(unknown):
            word = levels.words[levels.codes[unknown[0]]]
            name = getattr(self, "feature_names_in_", np.arange(j + 1))[j]
            raise InputError(
                f"column {str(name)!r} has {word!r} in row {unknown[0]}, which was not "
                "seen in fit; pass handle_unknown='ignore' to let it pass."
            )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """`color_red`, `color_other`, `color_missing`."""
        check_is_fitted(self)
        names = []
        for j, feature in enumerate(names_in(self, input_features)):
            ends = [*self.categories_[j]]
            ends += ["other"] * bool(self.grouped_[j])
            ends += ["missing"] * bool(self.missing_[j])
            names += [f"{feature}_{end}" for end in ends[self.drop == "first" :]]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
