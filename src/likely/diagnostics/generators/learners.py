"""Simple and flexible predictors of a column of a table, scored by AUC or R²."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from likely.base.table_rows import is_frame
from likely.core.checks import InputError
from likely.data.columns import as_levels, as_numbers, is_text
from likely.data.frames import to_arrow
from likely.diagnostics.generators.table_space import plain
from likely.evaluate.delong import auc_interval
from likely.evaluate.scores import r_squared
from likely.preprocess import TableEncoder

MAX_CLASSES = 10
"""Numbers with so few different values are predicted as classes."""


class Task(NamedTuple):
    """A column to be predicted from the others."""

    target: str
    classes: tuple[Any, ...] | None
    """Its classes; None for numbers."""

    @property
    def measure(self) -> str:
        """The name of the score."""
        return "R²" if self.classes is None else "AUC"

    def split(self, X: Any) -> tuple[Any, np.ndarray]:
        """The inputs of rows, and their targets: numbers, or codes with −1 for others."""
        table = plain(X)
        values = table.column(self.target)
        rest = table.drop_columns([self.target])
        if self.classes is None:
            return rest, as_numbers(values, self.target)
        known = {level: code for code, level in enumerate(self.classes)}
        return rest, np.array([known.get(v, -1) for v in _labels(values, self.target)])


def task_of(X: Any, target: str) -> Task:
    """Whether a column holds classes or numbers.

    Args:
        X: rows.
        target: the name of the column.
    """
    if not is_frame(X):
        X = np.asarray(X)
    table = to_arrow(X)
    if target not in table.column_names:
        raise InputError(
            f"there is no column {target!r}; the columns are "
            f"{', '.join(table.column_names[:10])}."
        )
    labels = _labels(plain(X).column(target), target)
    levels = sorted({v for v in labels if v is not None and v == v}, key=str)
    if len(levels) < 2:
        raise InputError(f"{target!r} has one value, so there is nothing to predict.")
    numbers = not isinstance(levels[0], str)
    if numbers and len(levels) > MAX_CLASSES:
        return Task(target, None)
    return Task(target, tuple(levels))


def learners(task: Task) -> dict[str, Any]:
    """A linear model and boosted trees for a task."""
    from likely import estimators

    if task.classes is None:
        return {
            "linear": estimators.Ridge(alpha=1.0),
            "boosted trees": estimators.GradientBoostingRegressor(),
        }
    return {
        "linear": estimators.LogisticRegression(alpha=1.0),
        "boosted trees": estimators.GradientBoostingClassifier(),
    }


def score_of(learner: Any, task: Task, train: Any, test: Any) -> np.ndarray:
    """(m,) or (m, c) predictions of test rows by a learner fitted to training rows.

    Args:
        learner: unfitted; it is not changed.
        task: what is predicted.
        train: rows to fit.
        test: rows to predict.
    """
    from sklearn.base import clone

    A, y = task.split(train)
    B, _ = task.split(test)
    here = ~np.isnan(y) if task.classes is None else y >= 0
    if task.classes is not None and len(np.unique(y[here])) < 2:
        raise InputError(f"the rows to learn from have one class of {task.target!r}.")
    encoder = TableEncoder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = A.filter(here) if not here.all() else A
        E = encoder.fit_transform(rows, y[here])
        model: Any = clone(learner)
        model.fit(np.asarray(E), y[here])
        F = np.asarray(encoder.transform(B))
        if task.classes is None:
            return np.asarray(model.predict(F), np.float64)
        found = np.zeros((len(F), len(task.classes)))
        found[:, np.asarray(model.classes_, int)] = model.predict_proba(F)
    return found


def measured(task: Task, y: np.ndarray, predicted: np.ndarray) -> float:
    """R², or the area under the ROC curve: of several classes the mean of each against all."""
    if task.classes is None:
        here = ~np.isnan(y)
        return r_squared(y[here], predicted[here])
    here = y >= 0
    y, predicted = y[here], predicted[here]
    if len(task.classes or ()) == 2:
        return auc_interval(y, predicted[:, 1]).value
    areas = [
        auc_interval((y == c).astype(int), predicted[:, c]).value
        for c in range(predicted.shape[1])
        if 0 < (y == c).sum() < len(y)
    ]
    return float(np.mean(areas))


def _labels(values: Any, name: str) -> list[Any]:
    """The cells of a column: words, or numbers."""
    if is_text(values.type):
        codes, levels = as_levels(values, name)
        return [None if c < 0 else str(levels[c]) for c in codes]
    found = as_numbers(values, name)
    return [None if np.isnan(v) else float(v) for v in found]
