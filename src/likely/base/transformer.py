"""The face of transformers: checked rows in, columns with names out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from likely.base.rows import check_inputs
from likely.files import save


class Transformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Rows to columns; you write `fit`, `_columns` and `_n_features_out`."""

    @abstractmethod
    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The new columns of checked rows."""

    @property
    @abstractmethod
    def _n_features_out(self) -> int:
        """How many columns there are."""

    def transform(self, X: Any) -> np.ndarray:
        """The new columns of each row."""
        check_is_fitted(self)
        return self._columns(self._inputs(X))

    def _inputs(self, X: Any) -> np.ndarray:
        """Checked rows; a default that may be replaced."""
        return check_inputs(self, X)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
