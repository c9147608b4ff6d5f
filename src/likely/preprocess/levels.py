"""Columns of categories for the encoders: what was seen, how often, and in what order."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from likely.core.checks import InputError
from likely.data.columns import Levels, as_levels
from likely.preprocess.validation import row_weights, table_columns

MISSING, UNKNOWN = -1, -2
"""Codes of a missing value, and of a category that was not seen in `fit`."""


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


def training_tallies(encoder: Any, X: Any, sample_weight: Any) -> list[Tally]:
    """The weights of the categories of each column to learn from."""
    columns, w = training_levels(encoder, X, sample_weight)
    return [tally(levels, w) for levels in columns]


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
    flags = {"true": "1", "false": "0"}  # of either type
    if set(categories) <= set(flags.values()):
        index |= {t: index[n] for t, n in flags.items() if n in index}
    elif set(categories) <= set(flags):
        index |= {n: index[t] for t, n in flags.items() if t in index}
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
        check: Any = check_array
        X = check(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    return table_columns(encoder, X, as_levels, reset=reset)
