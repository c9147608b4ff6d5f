"""Categories as columns of 0 and 1."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.data.columns import Levels
from likely.preprocess.blocks import Writer
from likely.preprocess.encoder import AbstractEncoder
from likely.preprocess.levels import (
    MISSING,
    UNKNOWN,
    Tally,
    codes_among,
    in_order,
    training_tallies,
)

HANDLE_UNKNOWN = ("infrequent_if_exist", "ignore", "error")


class OneHotEncoder(AbstractEncoder):
    """Encodes each category as a column of 0 and 1; rare categories share a column.

    Missing values have a column of their own where some were seen in `fit`; a category
    that was not seen becomes a row of zeros.

    Args:
        max_categories: the largest number of columns of a feature: the categories of
            most weight, and one column for the others; None for no limit.
        min_frequency: categories of less weight than this join the others.
        drop: "first" leaves the first column of each feature out, for linear models
            without penalty; None keeps all.
        handle_unknown: what becomes of a category not seen in `fit`:
            "infrequent_if_exist" joins the others, or zeros; "ignore" zeros; "error".

    Attributes:
        categories_: the categories of each feature that have a column, in order.
        grouped_: whether a feature has a column for the others, (d,) of bool.
        missing_: whether it has a column for missing values, (d,) of bool.

    Examples:
        >>> lk.preprocess.OneHotEncoder().fit_transform(np.array([["red"], ["blue"], ["red"]]))
        array([[0., 1.],
               [1., 0.],
               [0., 1.]])
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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.fit_tallies(training_tallies(self, X, sample_weight))

    def fit_tallies(self, tallies: Sequence[Tally]) -> "OneHotEncoder":
        """Learn from the weights of the categories, one tally for each feature."""
        self._check_parameters()
        self.categories_ = [self._kept(found) for found in tallies]
        seen = np.array([len(found.weights) for found in tallies])
        self.grouped_ = np.array([len(kept) for kept in self.categories_]) < seen
        self.missing_ = np.array([found.missing > 0 for found in tallies])
        return self

    def _check_parameters(self) -> None:
        if self.handle_unknown not in HANDLE_UNKNOWN:
            known = ", ".join(HANDLE_UNKNOWN)
            raise InputError(
                f"handle_unknown is {self.handle_unknown!r}; give one of {known}."
            )
        if self.drop not in (None, "first"):
            raise InputError(f"drop is {self.drop!r}; give 'first' or None.")
        if self.max_categories is not None and self.max_categories < 1:
            raise InputError("max_categories must be at least 1, or None.")

    def _kept(self, found: Tally) -> list[str]:
        """The categories with a column of their own."""
        weights = found.weights
        kept = in_order(list(weights))
        if self.min_frequency is not None:
            kept = [c for c in kept if weights[c] >= self.min_frequency]
        limit = self.max_categories
        if limit is not None and len(weights) > limit and len(kept) >= limit:
            common = sorted(kept, key=lambda c: -weights[c])[: limit - 1]
            kept = [c for c in kept if c in set(common)]
        return kept

    def widths(self) -> np.ndarray:
        """(d,) the number of columns that each feature becomes."""
        counts = np.array([len(categories) for categories in self.categories_])
        return counts + self.grouped_ + self.missing_ - (self.drop == "first")

    def writer(self, columns: Sequence[Levels]) -> Writer:
        """A function that sets the ones in a block of zeros."""
        starts = np.cumsum(self.widths()) - self.widths()
        features = []
        for j, levels in enumerate(columns):
            column = self._columns(j, levels)
            complete = not len(column) or column.min() >= 0
            features.append((starts[j], column, complete))

        def write(rows: slice, block: np.ndarray) -> None:
            every = np.arange(len(block))
            for start, column, complete in features:
                here = column[rows]
                if complete:
                    block[every, start + here] = 1.0
                else:
                    known = here >= 0
                    block[every[known], start + here[known]] = 1.0

        return write

    def _columns(self, j: int, levels: Levels) -> np.ndarray:
        """(n,) the column of each row's 1 among those of feature j, negative for none."""
        categories = self.categories_[j]
        others = len(categories) if self.grouped_[j] else UNKNOWN
        column = codes_among(levels, categories)
        if self.handle_unknown == "error" and not self.grouped_[j]:
            self._refuse_unknown(j, levels, column)
        if self.handle_unknown != "ignore":
            column = np.where(column == UNKNOWN, others, column)
        if self.missing_[j]:
            last = len(categories) + int(self.grouped_[j])
            column = np.where(column == MISSING, last, column)
        return column - (self.drop == "first")

    def _refuse_unknown(self, j: int, levels: Levels, codes: np.ndarray) -> None:
        unknown = np.flatnonzero(codes == UNKNOWN)
        if len(unknown):
            category = levels.categories[levels.codes[unknown[0]]]
            name = getattr(self, "feature_names_in_", np.arange(j + 1))[j]
            raise InputError(
                f"column {str(name)!r} has {category!r} in row {unknown[0]}, which was "
                "not seen in fit; pass handle_unknown='ignore' to let it pass."
            )

    def _names_out(self, names: list[str]) -> list[str]:
        """Names such as `color_red`, `color_other` and `color_missing`."""
        found = []
        for j, feature in enumerate(names):
            ends = [*self.categories_[j]]
            ends += ["other"] * bool(self.grouped_[j])
            ends += ["missing"] * bool(self.missing_[j])
            found += [f"{feature}_{end}" for end in ends[self.drop == "first" :]]
        return found
