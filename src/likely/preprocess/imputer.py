"""Missing numbers: a value in their place, and a column that says where."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.preprocess.rows import fit_rows, names_in, use_rows
from likely.preprocess.statistics import fill, moments, quantiles

STRATEGIES = ("mean", "median", "most_frequent", "constant")


class Imputer(TransformerMixin, BaseEstimator):
    """Fill what is missing, and mark it.

    A column that is missing in every row is filled with 0 (or `fill_value`).

    Args:
        strategy: "mean", "median", "most_frequent" or "constant".
        fill_value: for "constant".
        add_indicator: append a column of 0 and 1 for each column in which something was
            missing among the rows that were learned from.

    Attributes:
        statistics_: what is filled in, (d,).
        indicated_: which columns have an indicator, (d,) of bool.
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        *,
        strategy: str = "mean",
        fill_value: float = 0.0,
        add_indicator: bool = True,
    ):
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Imputer":
        """Learn what to fill in from the rows that have weight."""
        if self.strategy not in STRATEGIES:
            raise InputError(
                f"strategy is {self.strategy!r}; give one of {', '.join(STRATEGIES)}."
            )
        X, w = fit_rows(self, X, sample_weight)
        gone = np.isnan(X)
        empty = gone.all(axis=0)
        self.statistics_ = np.where(empty, float(self.fill_value), self._fillers(X, w))
        self.indicated_ = gone.any(axis=0) & self.add_indicator
        return self

    def _fillers(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.strategy == "mean":
            return moments(X, w).mean
        if self.strategy == "median":
            return quantiles(X, w, np.array([0.5]))[0]
        if self.strategy == "most_frequent":
            return np.array([_mode(column, w) for column in X.T])
        return np.full(X.shape[1], float(self.fill_value))

    def transform(self, X: Any) -> np.ndarray:
        """X without NaN, and the indicators after it."""
        check_is_fitted(self)
        X = use_rows(self, X)
        marks = np.isnan(X[:, self.indicated_]).astype(np.float64)
        return np.concatenate([fill(X, self.statistics_), marks], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names, and those of the indicators with `_missing`."""
        check_is_fitted(self)
        names = names_in(self, input_features)
        marks = [f"{name}_missing" for name in names[self.indicated_]]
        return np.array([*names, *marks], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _mode(column: np.ndarray, w: np.ndarray) -> float:
    """The value with most weight, the least of those with as much."""
    here = ~np.isnan(column)
    if not here.any():
        return 0.0
    values, place = np.unique(column[here], return_inverse=True)
    return float(values[np.argmax(np.bincount(place, weights=w[here]))])
