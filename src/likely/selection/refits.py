"""Fits to some rows of a table, and the scale of the errors of predictors of numbers."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from likely.core.checks import InputError
from likely.evaluate.splits import grouped_k_fold, k_fold
from likely.selection.members import error_scale, fitted

INNER_FOLDS = 5
"""Folds of the training rows from which the scale of a point regressor is learned."""


class TableRows(NamedTuple):
    """Inputs of any kind (an array, a sparse matrix, a frame) with targets and weights."""

    X: Any
    y: np.ndarray
    w: np.ndarray
    groups: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> "TableRows":
        """The rows with these indices that have weight."""
        rows = rows[self.w[rows] > 0]
        if np.array_equal(rows, np.arange(len(self.w))):
            return self
        groups = None if self.groups is None else self.groups[rows]
        return TableRows(
            _safe_indexing(self.X, rows), self.y[rows], self.w[rows], groups
        )


def fit_rows(estimator: Any, rows: TableRows) -> Any:
    """A fitted copy; weights are passed on where they are not all one."""
    return fitted(estimator, rows.X, rows.y, None if (rows.w == 1).all() else rows.w)


def inner_scale(estimator: Any, rows: TableRows) -> Any:
    """The root mean squared error on inner folds; groups stay together."""
    return error_scale(
        (new.y, fit_rows(estimator, known).predict(new.X), new.w)
        for known, new in _inner_folds(rows)
    )


def _inner_folds(rows: TableRows) -> list[tuple[TableRows, TableRows]]:
    n = len(rows.w)
    if n < 2:
        raise InputError(
            "a fold has one training row only, from which no scale of errors can be "
            "learned; use fewer folds or more rows."
        )
    n_groups = 0 if rows.groups is None else len(np.unique(rows.groups))
    if n_groups > 1:
        folds = grouped_k_fold(rows.groups, min(INNER_FOLDS, n_groups), random_state=0)
    else:
        folds = k_fold(n, min(INNER_FOLDS, n), random_state=0)
    return [
        (rows.part(np.flatnonzero(train)), rows.part(np.flatnonzero(out)))
        for train, out in zip(*folds, strict=True)
    ]
