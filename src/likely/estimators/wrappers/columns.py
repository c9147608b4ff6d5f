"""The columns of a wrapper: those of the estimator that it wraps."""

from typing import Any

NAMES = ("n_features_in_", "feature_names_in_")


def copy_column_names(wrapper: Any, fitted: Any) -> None:
    """Give a wrapper the number and the names of the columns of the fitted estimator."""
    for name in NAMES:
        vars(wrapper).pop(name, None)
        if hasattr(fitted, name):
            setattr(wrapper, name, getattr(fitted, name))
