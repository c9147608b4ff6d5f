"""Scaling: each column shifted and divided, by weighted statistics.

Missing values (NaN) are left out of the statistics and stay missing.
"""

from abc import abstractmethod
from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likely.core.checks import InputError
from likely.preprocess.statistics import Affine, minmax, robust, standard
from likely.preprocess.transformer import AbstractTransformer
from likely.preprocess.validation import new_rows, training_rows


class AbstractScaler(AbstractTransformer):
    """A scaler: write `_affine`, get the transformer.

    Attributes:
        center_: what is subtracted, (d,).
        scale_: what is divided by, (d,).
    """

    _input_tags = ("allow_nan",)

    center_: np.ndarray
    scale_: np.ndarray

    @abstractmethod
    def _affine(self, X: np.ndarray, w: np.ndarray) -> Affine:
        """The centre and the scale of each column."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, w = training_rows(self, X, sample_weight)
        self.center_, self.scale_ = self._affine(X, w)

    def _transform(self, X: Any) -> np.ndarray:
        return Affine(self.center_, self.scale_).apply(new_rows(self, X))

    def _names_out(self, names: list[str]) -> list[str]:
        return names

    def inverse_transform(self, X: Any) -> np.ndarray:
        """X · scale + center."""
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64)
        return Affine(self.center_, self.scale_).invert(X)


class StandardScaler(AbstractScaler):
    """Scales each column to mean 0 and variance 1.

    Args:
        with_mean: subtract the mean.
        with_std: divide by the standard deviation.

    Examples:
        >>> lk.preprocess.StandardScaler().fit_transform(np.array([[1.0], [2.0], [3.0]])).round(2)
        array([[-1.22],
               [ 0.  ],
               [ 1.22]])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, with_mean: bool = True, with_std: bool = True):
        self.with_mean, self.with_std = with_mean, with_std

    def _affine(self, X: np.ndarray, w: np.ndarray) -> Affine:
        center, scale = standard(X, w)
        center = center if self.with_mean else np.zeros_like(center)
        return Affine(center, scale if self.with_std else np.ones_like(scale))

    @property
    def mean_(self) -> np.ndarray:
        """The means, by scikit-learn's name."""
        return self.center_


class RobustScaler(AbstractScaler):
    """Scales each column to median 0 and quartiles one apart: outliers hardly count.

    Args:
        quantile_range: the two quantiles, in percent.

    Examples:
        >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [100.0]])
        >>> lk.preprocess.RobustScaler().fit_transform(X)[:, 0]
        array([-1. , -0.5,  0. ,  0.5, 48.5])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, quantile_range: tuple[float, float] = (25.0, 75.0)):
        self.quantile_range = quantile_range

    def _affine(self, X: np.ndarray, w: np.ndarray) -> Affine:
        low, high = self.quantile_range
        if not 0 <= low <= 50 <= high <= 100 or low == high:
            raise InputError(
                f"quantile_range is {self.quantile_range}; give two percentages on "
                "either side of 50."
            )
        return robust(X, w, np.array([low, 50.0, high]) / 100)


class MinMaxScaler(AbstractScaler):
    """Scales each column to a range: its minimum to one end, its maximum to the other.

    Args:
        feature_range: the range; 0 to 1 by default.

    Examples:
        >>> lk.preprocess.MinMaxScaler().fit_transform(np.array([[1.0], [2.0], [5.0]]))
        array([[0.  ],
               [0.25],
               [1.  ]])
    """

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(self, *, feature_range: tuple[float, float] = (0.0, 1.0)):
        self.feature_range = feature_range

    def _affine(self, X: np.ndarray, w: np.ndarray) -> Affine:
        low, high = self.feature_range
        if not low < high:
            raise InputError(
                f"feature_range is {self.feature_range}; give the lower end first."
            )
        return minmax(X, w, low, high)
