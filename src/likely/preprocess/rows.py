"""What every transformer does first: rows as an array, without those of weight 0."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, validate_data

from likely.core.checks import InputError, check_weights


def weights_of(sample_weight: Any, n: int) -> np.ndarray:
    """(n,) weights, one each unless given."""
    if sample_weight is None:
        return np.ones(n)
    return check_weights(np.asarray(sample_weight), n)


def fit_rows(
    estimator: Any, X: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and weights to learn from: those of weight 0 are left out, unseen."""
    X = np.asarray(
        validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False)
    )
    w = weights_of(sample_weight, len(X))
    X, w = X[w > 0], w[w > 0]
    endless = np.argwhere(np.isinf(X))
    if len(endless):
        row, column = endless[0]
        names = getattr(estimator, "feature_names_in_", None)
        name = column if names is None else repr(names[column])
        raise InputError(
            f"X contains infinity (column {name}, the {row + 1}. row with weight); "
            "give NaN for what is missing."
        )
    return X, w


def use_rows(estimator: Any, X: Any) -> np.ndarray:
    """Rows to transform, of as many columns as were learned."""
    return np.asarray(
        validate_data(
            estimator, X, dtype=np.float64, ensure_all_finite=False, reset=False
        )
    )


def names_in(estimator: Any, input_features: Any) -> np.ndarray:
    """(d,) the names of the features, as scikit-learn checks or makes them up."""
    return np.asarray(_check_feature_names_in(estimator, input_features))
