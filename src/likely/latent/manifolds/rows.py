"""Checked rows for maps, and checked settings that several of them have."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from likely.base.rows import dense
from likely.base.settings import at_least
from likely.core.checks import check_finite


def check_map_rows(estimator: Any, X: Any, least: int = 2) -> np.ndarray:
    """(n, d) finite numbers, at least so many rows.

    Args:
        estimator: whose `n_features_in_` and `feature_names_in_` are set.
        X: rows.
        least: how many rows there have to be.
    """
    X = validate_data(
        estimator,
        dense(X),
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=least,
    )
    check_finite("X", X, names=getattr(estimator, "feature_names_in_", None))
    return X


def neighbor_count(n_neighbors: Any, n: int, *, least: int = 1) -> int:
    """The number of neighbours asked for, or all other rows where there are fewer."""
    return min(at_least("n_neighbors", n_neighbors, least, whole=True), n - 1)
