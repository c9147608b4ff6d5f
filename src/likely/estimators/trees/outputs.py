r"""Several outputs: a model for each column of y, $p(y \mid x) = \prod_j p_j(y_j \mid x)$.

Nothing is shared but the settings: output j is what a fit to column j alone says, bit by
bit, whatever the other columns are and in whatever order and unit.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.estimators.host import AbstractHostRegressor, Rows
from likely.families import Predictive, Product

JOINED = {
    "family_": lambda parts: Product(*parts),
    "n_estimators_": np.array,
    "oob_prediction_": np.column_stack,
    "oob_score_": lambda parts: float(np.mean(parts)),
    "scale_": np.array,
    "spread_": np.array,
}
"""What a fit may tell of itself, and how those of several outputs are made one."""


def outputs_of(estimator: Any) -> list:
    """The models of the columns of y; none where y has no columns."""
    return vars(estimator).get("outputs_", [])


class AbstractOutputs(AbstractHostRegressor, ABC):
    """A regressor of one output, or of several, each with a model of its own.

    You write `_one_dist`, `_one_mean`, and a `fit` that leaves columns to `_fit_each`.
    """

    outputs_: list

    @abstractmethod
    def _one_dist(self, X: np.ndarray) -> Predictive:
        """p(y | x) for each row, y a single output."""

    @abstractmethod
    def _one_mean(self, X: np.ndarray) -> np.ndarray:
        """E[y | x] of each row, y a single output."""

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row; several outputs are independent given x."""
        X, models = self._inputs(X), outputs_of(self)
        if not models:
            return self._one_dist(X)
        parts = [model._one_dist(X) for model in models]
        eta = np.concatenate([part.eta for part in parts], axis=1)
        return Predictive(Product(*(part.family for part in parts)), eta)

    def _mean(self, X: np.ndarray) -> np.ndarray:
        models = outputs_of(self)
        if not models:
            return self._one_mean(X)
        return np.column_stack([model._one_mean(X) for model in models])

    def _has_columns(self, rows: Rows) -> bool:
        """Whether y has columns; what an earlier fit found is forgotten."""
        kept = {*self.get_params(deep=False), "n_features_in_", "feature_names_in_"}
        for name in set(vars(self)) - kept:
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)
        return rows.y.ndim == 2

    def _fit_each(self, X: Any, y: Any, *, y_val: Any = None, **others: Any):
        """A model for each column of y, all of the same settings."""
        Y, V = np.asarray(y), None if y_val is None else np.asarray(y_val)
        if V is not None and V.shape[1:] != Y.shape[1:]:
            raise InputError(
                f"y_val has shape {V.shape}; give the {Y.shape[1]} columns that y has."
            )
        models = []
        for j, column in enumerate(Y.T):
            if V is not None:
                others["y_val"] = V[:, j]
            model: Any = type(self)(**self.get_params(deep=False))
            models.append(model.fit(X, column, **others))
        for name, join in JOINED.items():
            if name in vars(models[0]):
                setattr(self, name, join([getattr(m, name) for m in models]))
        self.outputs_ = models
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
