"""Train on synthetic, test on real: how much of what a table teaches a synthetic one teaches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.core.written_numbers import percent, with_error
from likely.diagnostics.generators.learners import (
    learners,
    measured,
    score_of,
    task_of,
)
from likely.diagnostics.result import Result
from likely.evaluate.assignment import generator_of
from likely.evaluate.scores import Score

RESAMPLES = 200
"""Resamples of the test rows for the errors."""


@dataclass(frozen=True, repr=False, eq=False)
class SyntheticTraining(Result):
    """Scores on real test rows of predictors that learned from real and from synthetic rows.

    Attributes:
        target: the column that is predicted.
        measure: "R²" or "AUC".
        names: of the predictors.
        real: the score of each, learned from real rows.
        synthetic: the score of each, learned from synthetic rows.
        difference: synthetic minus real, with the error of the paired difference.
    """

    target: str
    measure: str
    names: tuple[str, ...]
    real: tuple[Score, ...]
    synthetic: tuple[Score, ...]
    difference: tuple[Score, ...]

    @property
    def best(self) -> int:
        """The predictor with the best score by real rows."""
        return int(np.argmax([score.value for score in self.real]))

    @property
    def ratio(self) -> float:
        """The score by synthetic rows over that by real rows, of the best by real rows."""
        real = self.real[self.best].value
        return self.synthetic[self.best].value / real if real > 0 else float("nan")

    @property
    def verdict(self) -> str:
        """How much of the score by real rows synthetic rows give."""
        i = self.best
        real, synthetic, gap = self.real[i], self.synthetic[i], self.difference[i]
        share = f"{percent(self.ratio)} of " if np.isfinite(self.ratio) else ""
        return (
            f"Learned from synthetic rows, the predictor {self.names[i]!r} of "
            f"{self.target!r} has {self.measure} {with_error(*synthetic)} on real rows, "
            f"{share}the {with_error(*real)} learned from real rows (difference "
            f"{with_error(*gap, '+')})."
        )

    def table(self) -> Mapping[str, Any]:
        """A row for each predictor."""
        columns: dict[str, Any] = {"learner": list(self.names)}
        for name in ("real", "synthetic", "difference"):
            scores: tuple[Score, ...] = getattr(self, name)
            columns[f"{self.measure} {name}" if name != "difference" else name] = [
                s.value for s in scores
            ]
            columns[f"± {name}"] = [s.error for s in scores]
        return columns

    def plot(self) -> Any:
        """Both scores of each predictor."""
        from likely import plots

        return plots.synthetic_training(self)


def train_on_synthetic(
    synthetic: Any,
    train: Any,
    test: Any,
    *,
    target: str,
    estimators: Mapping[str, Any] | None = None,
    random_state: Any = 0,
) -> SyntheticTraining:
    """Train on synthetic rows, test on real ones, beside training on real rows (TSTR).

    Args:
        synthetic: generated rows.
        train: the real rows that the generator was fitted to.
        test: other real rows.
        target: the name of the column to predict from the others.
        estimators: predictors by name; by default a linear model and boosted trees.
        random_state: seed of the resamples of test rows.
    """
    task = task_of(train, target)
    _, y = task.split(test)
    models = learners(task) if estimators is None else dict(estimators)
    if not models:
        raise InputError("there is no predictor; give one by name, or None.")
    rng = generator_of(random_state)
    draws = rng.integers(len(y), size=(RESAMPLES, len(y)))
    found = [[], [], []]
    for model in models.values():
        predicted = [score_of(model, task, rows, test) for rows in (train, synthetic)]
        again = np.array([[_safe(task, y[d], p[d]) for p in predicted] for d in draws])
        values = [measured(task, y, p) for p in predicted]
        values.append(values[1] - values[0])
        spread = (again[:, 0], again[:, 1], again[:, 1] - again[:, 0])
        for column, value, resampled in zip(found, values, spread, strict=True):
            column.append(Score(value, float(np.nanstd(resampled, ddof=1))))
    real, made, gap = (tuple(column) for column in found)
    return SyntheticTraining(target, task.measure, tuple(models), real, made, gap)


def _safe(task: Any, y: np.ndarray, predicted: np.ndarray) -> float:
    """The score of a resample; NaN where it has one class."""
    if len(np.unique(y)) < 2:
        return float("nan")
    return measured(task, y, predicted)
