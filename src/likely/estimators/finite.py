"""Checked rows for predictors on the host that cannot take missing values."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from likely.core.checks import check_finite
from likely.estimators.host import AbstractHostPredictor

T = TypeVar("T")


class FiniteRows(NamedTuple):
    """Rows that have weight, all numbers finite."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    present: np.ndarray
    """Their places among the rows that were given."""


def finite_rows(
    estimator: AbstractHostPredictor, X: Any, y: Any, sample_weight: Any
) -> FiniteRows:
    """The rows that count; a missing value among them gets its sentence."""
    rows = estimator._rows(X, y, sample_weight)
    check_finite("X", rows.X, names=getattr(estimator, "feature_names_in_", None))
    present = np.arange(len(rows.X))
    if sample_weight is not None:
        present = np.flatnonzero(np.asarray(sample_weight, np.float64) > 0)
    return FiniteRows(*rows, present)


def finite_inputs(estimator: AbstractHostPredictor, X: Any) -> np.ndarray:
    """Inputs to predict from, as those of the fit and finite."""
    X = estimator._inputs(X)
    check_finite("X", X, names=getattr(estimator, "feature_names_in_", None))
    return X


def without_nan(tags: Any) -> Any:
    """scikit-learn's tags of an estimator that takes no missing values."""
    tags.input_tags.allow_nan = False
    return tags


def share(job: Callable[[Any], T], parts: Iterable[Any]) -> list[T]:
    """The job for each part, in threads; results in the order of the parts."""
    parts = list(parts)
    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        return [job(part) for part in parts]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(job, parts))
