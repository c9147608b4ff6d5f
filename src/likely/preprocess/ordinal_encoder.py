"""Categories as numbers 0, 1, 2, ...: for trees, and for classes."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np

from likely.data.columns import Levels
from likely.preprocess.blocks import Writer, copier
from likely.preprocess.encoder import AbstractEncoder
from likely.preprocess.levels import (
    MISSING,
    UNKNOWN,
    Tally,
    codes_among,
    in_order,
    training_tallies,
)


class OrdinalEncoder(AbstractEncoder):
    """Encodes each category as its index among those seen, in their order.

    Args:
        unknown_value: the code of a category that was not seen in `fit`.
        encoded_missing_value: the code of a missing value.

    Attributes:
        categories_: the categories of each feature, in order.

    Examples:
        >>> lk.preprocess.OrdinalEncoder().fit_transform(np.array([["red"], ["blue"], ["red"]]))
        array([[1.],
               [0.],
               [1.]])
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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.fit_tallies(training_tallies(self, X, sample_weight))

    def fit_tallies(self, tallies: Sequence[Tally]) -> "OrdinalEncoder":
        """Learn from the weights of the categories, one tally for each feature."""
        self.categories_ = [in_order(list(found.weights)) for found in tallies]
        return self

    def widths(self) -> np.ndarray:
        """(d,) ones: each feature stays one column."""
        return np.ones(len(self.categories_), int)

    def writer(self, columns: Sequence[Levels]) -> Writer:
        """A function that writes the codes of some rows into a block."""
        return copier(self._codes(columns))

    def _codes(self, columns: Sequence[Levels]) -> np.ndarray:
        """(n, d) of codes."""
        out = np.zeros((len(columns[0].codes), len(columns)))
        for j, levels in enumerate(columns):
            codes = codes_among(levels, self.categories_[j])
            out[:, j] = codes
            out[codes == UNKNOWN, j] = self.unknown_value
            out[codes == MISSING, j] = self.encoded_missing_value
        return out

    def _names_out(self, names: list[str]) -> list[str]:
        return names
