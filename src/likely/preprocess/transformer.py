"""What every transformer shares: scikit-learn's contract, row weights, and `save`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from likely.files import save


class AbstractTransformer(TransformerMixin, BaseEstimator, ABC):
    """A transformer: write `_fit`, `_transform` and `_names_out`, get the rest.

    Rows of weight 0 change nothing, and a weight of 2 is the row twice.
    """

    _input_tags: ClassVar[tuple[str, ...]] = ()
    """Which of scikit-learn's input tags hold, such as "allow_nan"."""
    _needs_target: ClassVar[bool] = False
    """Whether `fit` needs y."""

    n_features_in_: int

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from the rows that have weight, and store what was learned."""

    @abstractmethod
    def _transform(self, X: Any) -> np.ndarray:
        """Compute the new columns of some rows."""

    @abstractmethod
    def _names_out(self, names: list[str]) -> list[str]:
        """Name the new columns, given the names of the old ones."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None):
        """Learn from the rows that have weight.

        Args:
            X: the rows.
            y: the target; most transformers ignore it.
            sample_weight: how often each row counts; once where None.
        """
        self._fit(X, y, sample_weight)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The new columns of some rows, (n, columns)."""
        check_is_fitted(self)
        return self._transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that `transform` returns."""
        check_is_fitted(self)
        given = np.asarray(_check_feature_names_in(self, input_features))
        names = self._names_out([str(name) for name in given])
        return np.array(names, dtype=object)

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        for name in self._input_tags:
            setattr(tags.input_tags, name, True)
        tags.target_tags.required = self._needs_target
        return tags
