"""Columns of categories for the encoders: what was seen, how often, and in what order."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from likely.core.checks import InputError
from likely.data.columns import Levels, as_levels
from likely.data.frames import to_arrow
from likely.preprocess.validation import row_weights

MISSING, UNKNOWN = -1, -2
"""Codes of a missing value, and of a category that was not seen in `fit`."""
UNCHECKED: dict[str, Any] = {
    "dtype": None,
    "ensure_all_finite": False,
    "ensure_min_samples": 0,
}
"""Options of `check_array` for an array of any values."""


class Tally(NamedTuple):
    """The weight of each category of a column, and of its missing values."""

    weights: Mapping[str, float]
    missing: float

    def merge(self, other: "Tally") -> "Tally":
        """The weights of two sets of rows together."""
        weights = dict(self.weights)
        for category, weight in other.weights.items():
            weights[category] = weights.get(category, 0.0) + weight
        return Tally(weights, self.missing + other.missing)


def tally(levels: Levels, w: np.ndarray) -> Tally:
    """The weight of each category in the rows that have weight."""
    present = levels.codes >= 0
    weight = np.bincount(
        levels.codes[present], w[present], minlength=len(levels.categories)
    )
    seen = np.flatnonzero(weight)
    weights = {levels.categories[i]: float(weight[i]) for i in seen}
    return Tally(weights, float(w[~present].sum()))


def in_order(categories: Sequence[str]) -> list[str]:
    """Categories in alphabetical order; if all are numbers by size: 2 before 10."""
    try:
        sizes = {category: float(category) for category in categories}
    except ValueError:
        return sorted(categories)
    if not np.isfinite(list(sizes.values())).all():
        return sorted(categories)
    return sorted(categories, key=lambda category: (sizes[category], category))


def codes_among(levels: Levels, categories: Sequence[str]) -> np.ndarray:
    """(n,) each row's index in `categories`, or else MISSING or UNKNOWN."""
    index = {category: i for i, category in enumerate(categories)}
    table = [index.get(category, UNKNOWN) for category in levels.categories]
    return np.array([*table, MISSING], np.int32)[levels.codes]


def training_levels(
    encoder: Any, X: Any, sample_weight: Any
) -> tuple[list[Levels], np.ndarray]:
    """The columns to learn from, and the weights of their rows, 0 included."""
    columns = new_levels(encoder, X, reset=True)
    n = len(columns[0].codes)
    if not n:
        raise InputError("X has 0 rows; give at least one.")
    return columns, row_weights(sample_weight, n)


def new_levels(encoder: Any, X: Any, *, reset: bool = False) -> list[Levels]:
    """The columns of a frame or array; they must be those that were seen in `fit`."""
    if not hasattr(X, "shape") and not hasattr(X, "columns"):
        X = np.asarray(X, dtype=object)
    if isinstance(X, np.ndarray) or issparse(X):
        X = check_array(X, **UNCHECKED)
    validate_data(encoder, X, skip_check_array=True, reset=reset)
    table = to_arrow(X)
    return [
        as_levels(values, name)
        for name, values in zip(table.column_names, table.columns, strict=True)
    ]
