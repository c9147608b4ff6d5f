"""Imputation: a value in place of each missing number, and a column that marks it."""

from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.preprocess.statistics import column_moments, fill, quantiles
from likely.preprocess.transformer import AbstractTransformer
from likely.preprocess.validation import new_rows, training_rows

STRATEGIES = ("mean", "median", "most_frequent", "constant")


class Imputer(AbstractTransformer):
    """Fills missing values, and appends indicators of where they were.

    A column that is missing in every row is filled with 0 (or `fill_value`).

    Args:
        strategy: "mean", "median", "most_frequent" or "constant".
        fill_value: for "constant".
        add_indicator: append a column of 0 and 1 for each column in which something was
            missing among the rows that were learned from.

    Attributes:
        statistics_: the value that is filled in, (d,).
        indicated_: which columns have an indicator, (d,) of bool.

    Examples:
        >>> lk.preprocess.Imputer().fit_transform(np.array([[1.0], [np.nan], [3.0]]))
        array([[1., 0.],
               [2., 1.],
               [3., 0.]])
    """

    _input_tags = ("allow_nan",)

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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.strategy not in STRATEGIES:
            raise InputError(
                f"strategy is {self.strategy!r}; give one of {', '.join(STRATEGIES)}."
            )
        X, w = training_rows(self, X, sample_weight)
        missing = np.isnan(X)
        empty = missing.all(axis=0)
        values = self._fill_values(X, w)
        self.statistics_ = np.where(empty, float(self.fill_value), values)
        self.indicated_ = missing.any(axis=0) & self.add_indicator

    def _fill_values(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.strategy == "mean":
            return column_moments(X, w).mean
        if self.strategy == "median":
            return quantiles(X, w, np.array([0.5]))[0]
        if self.strategy == "most_frequent":
            return np.array([_mode(column, w) for column in X.T])
        return np.full(X.shape[1], float(self.fill_value))

    def _transform(self, X: Any) -> np.ndarray:
        X = new_rows(self, X)
        indicators = np.isnan(X[:, self.indicated_]).astype(np.float64)
        return np.concatenate([fill(X, self.statistics_), indicators], axis=1)

    def _names_out(self, names: list[str]) -> list[str]:
        return names + [f"{names[j]}_missing" for j in np.flatnonzero(self.indicated_)]


def _mode(column: np.ndarray, w: np.ndarray) -> float:
    """The value of most weight; of several such values the smallest."""
    present = ~np.isnan(column)
    if not present.any():
        return 0.0
    values, index = np.unique(column[present], return_inverse=True)
    return float(values[np.argmax(np.bincount(index, weights=w[present]))])
