"""Columns of words for the encoders: what was seen, how often, and what is kept."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from likely.core.checks import InputError
from likely.data.columns import Levels, as_levels
from likely.data.frames import to_arrow
from likely.preprocess.rows import weights_of

MISSING, UNKNOWN = -1, -2
AS_IT_IS: dict[str, Any] = {
    "dtype": None,
    "ensure_all_finite": False,
    "ensure_min_samples": 0,
}
"""How an array of words is checked."""


class Tally(NamedTuple):
    """The weight of each word of a column, and of what is missing."""

    words: Mapping[str, float]
    missing: float

    def merge(self, other: "Tally") -> "Tally":
        """Both together."""
        words = dict(self.words)
        for word, weight in other.words.items():
            words[word] = words.get(word, 0.0) + weight
        return Tally(words, self.missing + other.missing)


def tally(levels: Levels, w: np.ndarray) -> Tally:
    """What a column holds in the rows that have weight."""
    here = levels.codes >= 0
    weight = np.bincount(levels.codes[here], w[here], minlength=len(levels.words))
    seen = np.flatnonzero(weight)
    words = {levels.words[i]: float(weight[i]) for i in seen}
    return Tally(words, float(w[~here].sum()))


def in_order(words: Sequence[str]) -> list[str]:
    """Words sorted, and numbers among themselves by size: 2 before 10."""
    try:
        sizes = {word: float(word) for word in words}
    except ValueError:
        return sorted(words)
    if not np.isfinite(list(sizes.values())).all():
        return sorted(words)
    return sorted(words, key=lambda word: (sizes[word], word))


def place(levels: Levels, words: Sequence[str]) -> np.ndarray:
    """(n,) each row's place in `words`; MISSING and UNKNOWN are negative."""
    places = {word: i for i, word in enumerate(words)}
    table = [places.get(word, UNKNOWN) for word in levels.words]
    return np.array([*table, MISSING], np.int32)[levels.codes]


def fit_levels(
    encoder: Any, X: Any, sample_weight: Any
) -> tuple[list[Levels], np.ndarray]:
    """The columns to learn from, and the weights of their rows; 0 stays 0."""
    columns = use_levels(encoder, X, reset=True)
    n = len(columns[0].codes)
    if not n:
        raise InputError("X has 0 rows; give at least one.")
    return columns, weights_of(sample_weight, n)


def use_levels(encoder: Any, X: Any, *, reset: bool = False) -> list[Levels]:
    """The columns of any frame or array, of as many as were learned."""
    if not hasattr(X, "shape") and not hasattr(X, "columns"):
        X = np.asarray(X, dtype=object)
    if isinstance(X, np.ndarray) or issparse(X):
        X = check_array(X, **AS_IT_IS)
    validate_data(encoder, X, skip_check_array=True, reset=reset)
    table = to_arrow(X)
    return [
        as_levels(values, name)
        for name, values in zip(table.column_names, table.columns, strict=True)
    ]
