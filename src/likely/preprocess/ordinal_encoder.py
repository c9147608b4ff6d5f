"""Categories as numbers 0, 1, 2, ...: for trees, and for classes."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.data.columns import Levels
from likely.preprocess.blocks import Writer, copier
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


class OrdinalEncoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The place of each category among those seen, in their order.

    Args:
        unknown_value: for a category that was not seen in `fit`.
        encoded_missing_value: for what is missing.

    Attributes:
        categories_: the words, in order, for each feature.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        unknown_value: float = -1.0,
        encoded_missing_value: float = float("nan"),
    ):
        self.unknown_value = unknown_value
        self.encoded_missing_value = encoded_missing_value

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OrdinalEncoder":
        """Learn the categories of the rows that have weight."""
        columns, w = fit_levels(self, X, sample_weight)
        return self.fit_tallies([tally(levels, w) for levels in columns])

    def fit_tallies(self, tallies: Sequence[Tally]) -> "OrdinalEncoder":
        """Learn from the weight of each word, column by column."""
        self.categories_ = [in_order(list(found.words)) for found in tallies]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """(n, d) of places."""
        check_is_fitted(self)
        return self._places(use_levels(self, X))

    def widths(self) -> np.ndarray:
        """(d,) of ones: each feature stays one column."""
        return np.ones(len(self.categories_), int)

    def writer(self, columns: Sequence[Levels]) -> Writer:
        """What writes the places of some rows."""
        return copier(self._places(columns))

    def _places(self, columns: Sequence[Levels]) -> np.ndarray:
        out = np.zeros((len(columns[0].codes), len(columns)))
        for j, levels in enumerate(columns):
            where = place(levels, self.categories_[j])
            out[:, j] = where
            out[where == UNKNOWN, j] = self.unknown_value
            out[where == MISSING, j] = self.encoded_missing_value
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags
