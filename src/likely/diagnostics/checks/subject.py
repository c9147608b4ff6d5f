"""A fitted predictor with its rows, and what checks ask of them, each computed once."""

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from likely.base.features import feature_names
from likely.diagnostics.checks.finding import DoesNotApply
from likely.diagnostics.influence.linear_fit import LinearFit, linear_fit
from likely.diagnostics.rows.columns import ColumnValues, columns_of
from likely.diagnostics.rows.held_out import (
    CrossFitted,
    Predicted,
    cross_fitted,
    fold_numbers,
    predicted,
)
from likely.selection.members import is_point_regressor, last_step

MIN_ENTITIES = 3
"""Groups for each fold from which on folds keep groups together."""


class Options(NamedTuple):
    """How the checks are made."""

    cv: int = 5
    coverage: float = 0.9
    level: float = 0.05
    """The probability that a table without faults has any finding that is tested."""
    random_state: int = 0


class Rows(NamedTuple):
    """Rows that count: inputs, targets, weights, and what they belong to."""

    X: Any
    y: np.ndarray
    w: np.ndarray
    groups: np.ndarray | None = None
    time: np.ndarray | None = None

    def __len__(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return len(self.y)

    def take(self, rows: np.ndarray) -> "Rows":
        """Some of them."""
        groups, time = (None if a is None else a[rows] for a in self[3:])
        X = _safe_indexing(self.X, rows)
        return Rows(X, self.y[rows], self.w[rows], groups, time)


class Subject:
    """What is checked.

    Args:
        model: the fitted predictor, or a fitted search.
        known: the rows of its fit.
        new: rows that it was not fitted to, or None.
        options: how the checks are made.
        n_checks: how many checks share the level.
    """

    def __init__(
        self, model: Any, known: Rows, new: Rows | None, options: Options, n_checks: int
    ):
        self.model, self.known, self.new = model, known, new
        self.options, self.level = options, options.level / n_checks
        self.fits: dict[str, CrossFitted] = {}

    # The model -------------------------------------------------------------------------

    @cached_property
    def predictor(self) -> Any:
        """The predictor that a search has chosen, or the model itself."""
        model = self.model
        while hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        return model

    @property
    def last(self) -> Any:
        """The predictor without the steps of a pipeline before it."""
        return last_step(self.predictor)

    @property
    def name(self) -> str:
        """The name of the predictor's class."""
        return type(self.last).__name__

    @cached_property
    def classes(self) -> np.ndarray | None:
        """The labels, sorted; None where y is a number."""
        if not is_classifier(self.predictor):
            return None
        return np.asarray(self.predictor.classes_)

    @property
    def is_point(self) -> bool:
        """Whether it predicts numbers without a distribution."""
        return self.classes is None and is_point_regressor(self.predictor)

    @property
    def has_probabilities(self) -> bool:
        """Whether it is a classifier with probabilities."""
        return self.classes is not None and hasattr(self.predictor, "predict_proba")

    @property
    def loss_name(self) -> str:
        """What `error_of` is called."""
        if self.classes is None:
            return "squared error"
        return "Brier score" if self.has_probabilities else "error rate"

    @cached_property
    def linear(self) -> LinearFit | None:
        """The model as a linear one, where it is."""
        rows = self.known
        weight = None if (rows.w == 1).all() else rows.w
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return linear_fit(self.predictor, rows.X, rows.y, weight)

    @cached_property
    def family(self) -> str:
        """The name of the family of p(y | x), where it is known: normal for points."""
        if self.classes is not None:
            return "class"
        own = getattr(self.last, "family_", None)
        if own is None and self.name.startswith("Poisson"):
            return "poisson"
        if own is None and getattr(self.last, "loss", None) == "poisson":
            return "poisson"
        if own is None:
            return "normal" if self.is_point else ""
        return type(own).__name__.lower()

    # The rows --------------------------------------------------------------------------

    @cached_property
    def columns(self) -> list[ColumnValues]:
        """The columns of the rows of the fit."""
        return self._columns(self.known.X)

    @cached_property
    def new_columns(self) -> list[ColumnValues]:
        """The columns of the new rows."""
        if self.new is None:
            raise DoesNotApply("there are no test rows")
        return self._columns(self.new.X)

    def _columns(self, X: Any) -> list[ColumnValues]:
        if not hasattr(X, "shape") or len(X.shape) != 2:
            raise DoesNotApply("the inputs are no table")
        return columns_of(X, feature_names(X, self.predictor))

    @cached_property
    def codes(self) -> np.ndarray:
        """(n,) the targets of the fit: numbers, or codes of classes."""
        if self.classes is None:
            return np.asarray(self.known.y, np.float64)
        return np.searchsorted(self.classes, self.known.y)

    @property
    def n(self) -> float:
        """The weight of the rows that are judged."""
        return float(self.held_out.w.sum())

    @cached_property
    def entities(self) -> np.ndarray | None:
        """The groups, where they are many: entities that folds should keep together."""
        groups = self.known.groups
        if groups is None:
            return None
        many = len(np.unique(groups)) >= MIN_ENTITIES * self.options.cv
        return groups if many else None

    # Predictions -----------------------------------------------------------------------

    def folds(self, kind: str = "") -> np.ndarray:
        """(n,) the fold of each row: "random", or with the groups together."""
        rows, options = self.known, self.options
        groups = None if kind == "random" else self.entities
        cv = options.cv
        if self.classes is not None and groups is None:
            cv = max(2, min(cv, int(np.bincount(self.codes).min())))
        return fold_numbers(
            rows.y,
            rows.w,
            min(cv, len(rows)),
            classes=self.classes is not None,
            groups=groups,
            random_state=options.random_state,
        )

    def cross_fitted(self, kind: str = "", fold: np.ndarray | None = None) -> Predicted:
        """Held-out predictions of the rows of the fit, by folds of this kind.

        Args:
            kind: a name by which they are kept.
            fold: (n,) the folds, where they are not those of `folds`.
        """
        if kind not in self.fits:
            fold = self.folds(kind) if fold is None else fold
            self.fits[kind] = self._cross_fitted(self.predictor, fold)
        return self.fits[kind].rows

    def _cross_fitted(self, model: Any, fold: np.ndarray) -> CrossFitted:
        rows = self.known
        return cross_fitted(
            model,
            rows.X,
            rows.y,
            rows.w,
            fold,
            classes=self.classes,
            coverage=self.options.coverage,
        )

    @cached_property
    def held_out(self) -> Predicted:
        """Predictions of rows that the model, or a copy of it, was not fitted to."""
        if self.new is None:
            return self.cross_fitted()
        return self.predictions(self.predictor, self.new)

    @cached_property
    def fitted_rows(self) -> Predicted:
        """The predictions of the rows of the fit by the model itself."""
        return self.predictions(self.predictor, self.known)

    def predictions(self, model: Any, rows: Rows) -> Predicted:
        """The predictions of a fitted model for rows."""
        scale = None
        if self.is_point:
            gap = self.fitted_rows_error
            scale = float(np.sqrt(max(gap, 1e-300)))
        return predicted(
            model,
            rows.X,
            rows.y,
            rows.w,
            classes=self.classes,
            coverage=self.options.coverage,
            scale=scale,
        )

    @cached_property
    def fitted_rows_error(self) -> float:
        """The mean squared error of a model of numbers on the rows of its fit."""
        rows = self.known
        mean = np.asarray(self.predictor.predict(rows.X), np.float64)
        return float(np.average((mean - self.codes) ** 2, weights=rows.w))

    def alternative(self, model: Any, name: str) -> Predicted:
        """Held-out predictions of another model, on the same rows as those of this one."""
        if name not in self.fits:
            if self.new is None:
                self.fits[name] = self._cross_fitted(model, self.folds())
            else:
                rows = self.known
                weight = None if (rows.w == 1).all() else rows.w
                from likely.selection.members import fitted

                copy = fitted(model, rows.X, rows.y, weight)
                new = self.new
                found = predicted(copy, new.X, new.y, new.w, classes=self.classes)
                self.fits[name] = CrossFitted(found, np.zeros(len(new)))
        return self.fits[name].rows

    def error_of(self, rows: Predicted) -> np.ndarray:
        """(m,) squared errors, Brier scores, or 1 for a wrong label without probabilities."""
        hard = self.classes is not None and not self.has_probabilities
        return rows.wrong if hard else rows.error

    @cached_property
    def null_error(self) -> np.ndarray:
        """(m,) the error of predicting the mean, or the shares of classes, for all rows."""
        rows, found = self.known, self.held_out
        if self.classes is None:
            mean = float(np.average(self.codes, weights=rows.w))
            return (found.y - mean) ** 2
        shares = np.bincount(self.codes, rows.w, len(self.classes)) / rows.w.sum()
        if not self.has_probabilities:
            return (found.y != shares.argmax()).astype(float)
        happened = np.eye(len(shares))[found.y.astype(int)]
        return ((happened - shares) ** 2).sum(1)
