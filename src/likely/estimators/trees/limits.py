"""Settings and rows of tree models as the engine takes them: limits, weights, bins."""

from typing import Any

import numpy as np

from likely.base.labels import class_weights
from likely.base.rows import Rows
from likely.base.settings import at_least, column_mask
from likely.core.checks import InputError
from likely.models.trees import Bins
from likely.models.trees.fitting import TreeLimits

UNLIMITED = 2**31 - 1
MAX_COLUMNS = 2**16 - 1


def tree_limits(estimator: Any, d: int, w: np.ndarray) -> TreeLimits:
    """The limits of each tree, from the checked settings of an estimator.

    Args:
        estimator: a tree or a forest.
        d: number of columns.
        w: row weights.
    """
    get = estimator.get_params(deep=False).get
    share = at_least("min_weight_fraction_leaf", get("min_weight_fraction_leaf"))
    split = at_least("min_samples_split", get("min_samples_split"))
    gain = at_least("min_impurity_decrease", get("min_impurity_decrease"))
    total = float(w.sum())
    return TreeLimits(
        max_depth=whole_limit("max_depth", get("max_depth"), 1),
        max_leaves=whole_limit("max_leaf_nodes", get("max_leaf_nodes"), 2),
        max_features=feature_count(get("max_features"), d),
        min_leaf=max(least_leaf_weight(get("min_samples_leaf")), share * total),
        min_split=split if split > 2 else 0.0,
        min_gain=gain * total,
    )


def whole_limit(name: str, value: Any, least: int) -> int:
    """A setting that is a whole number, at least `least`; None is no limit."""
    return UNLIMITED if value is None else at_least(name, value, least, whole=True)


def least_leaf_weight(min_samples_leaf: Any) -> float:
    """The least weight of a leaf; 1 is one row of any weight."""
    weight = at_least("min_samples_leaf", min_samples_leaf)
    return weight if weight > 1 else 0.0


def feature_count(max_features: Any, d: int) -> int:
    """How many of d columns are drawn: a number, a share, "sqrt", "log2", None for all."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        if max_features not in ("sqrt", "log2"):
            raise InputError(
                f"max_features is {max_features!r}; give 'sqrt', 'log2', a number of "
                "features, a share of them, or None for all."
            )
        found = np.sqrt(d) if max_features == "sqrt" else np.log2(d)
    elif isinstance(max_features, float):
        found = at_least("max_features", max_features) * d
    else:
        found = at_least("max_features", max_features, 1, whole=True)
    return int(min(max(found, 1), d))


def class_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """The rows of a fit that have weight, `class_weight` multiplied in.

    Args:
        model: a classifier with `class_weight`; gets its `classes_`.
        X: (n, d) inputs.
        y: (n,) classes.
        sample_weight: how often each row counts, or None.
    """
    rows = model._rows(X, y, sample_weight).present()
    w = class_weights(model.class_weight, model.classes_, rows.y, rows.w)
    return rows._replace(w=w).present()


def bin_rows(estimator: Any, rows: Rows) -> tuple[Bins, np.ndarray]:
    """The bins of the columns, and the bin of each entry as the engine has them.

    Args:
        estimator: with `categorical_features`; its columns of words are such too.
        rows: rows that all have weight.
    """
    d = rows.X.shape[1]
    if d > MAX_COLUMNS:
        raise InputError(f"X has {d} columns; trees take at most {MAX_COLUMNS}.")
    names = getattr(estimator, "feature_names_in_", None)
    mask = column_mask(estimator.categorical_features, d, names)
    mask[vars(estimator).get("category_columns_", [])] = True
    n_jobs = getattr(estimator, "n_jobs", None)
    X = np.ascontiguousarray(rows.X)
    bins = Bins.of(X, rows.w, mask, n_jobs=n_jobs)
    return bins, bins.encode(X, n_jobs)
