r"""Several outputs: a model for each column of y, $p(y \mid x) = \prod_j p_j(y_j \mid x)$.

Nothing is shared but the settings: output j is what a fit to column j alone gives, bit by
bit, whatever the other columns are and in whatever order and unit.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from likely.core.checks import InputError
from likely.families import Predictive, Product

ABOUT_COLUMNS = (
    "n_features_in_",
    "feature_names_in_",
    "category_columns_",
    "category_words_",
)
"""What a fit knows of the columns of X before it begins."""


def fit_each(
    estimator: Any,
    X: Any,
    Y: np.ndarray,
    *,
    y_val: Any = None,
    join: Mapping[str, Callable[[list], Any]],
    **others: Any,
) -> list:
    """A copy of the estimator fitted to each column of Y.

    Args:
        estimator: gets `outputs_`, the fitted copies, and the joined attributes.
        X: (n, d) inputs.
        Y: (n, q) targets.
        y_val: (m, q) targets of validation rows, where there are some.
        join: how the fitted attributes of the copies become one, by name.
        others: further arguments of `fit`.
    """
    V = None if y_val is None else np.asarray(y_val)
    if V is not None and V.shape[1:] != Y.shape[1:]:
        raise InputError(
            f"y_val has shape {V.shape}; give the {Y.shape[1]} columns that y has."
        )
    models = []
    for j, column in enumerate(Y.T):
        extra = others if V is None else {**others, "y_val": V[:, j]}
        model: Any = clone(estimator)
        models.append(model.fit(X, column, **extra))
    for name, joined in join.items():
        if name in vars(models[0]):
            setattr(estimator, name, joined([getattr(m, name) for m in models]))
    estimator.outputs_ = models
    return models


def forget_fit(estimator: Any) -> None:
    """Remove what an earlier fit found, so that one output leaves nothing of several."""
    kept = {*estimator.get_params(deep=False), *ABOUT_COLUMNS}
    for name in set(vars(estimator)) - kept:
        if name.endswith("_") and not name.startswith("_"):
            delattr(estimator, name)


def joint_distribution(parts: list[Predictive]) -> Predictive:
    """The product of the outputs' distributions: independent given x."""
    eta = np.concatenate([part.eta for part in parts], axis=1)
    return Predictive(Product(*(part.family for part in parts)), eta)
