"""The scores of settings: on every fold, many settings as one program where there is one."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, column_or_1d, indexable

from likely.base.rows import fill_absent_targets, weights_of
from likely.core.checks import InputError
from likely.evaluate.cross_validation import Splits, check_folds, cv_splits
from likely.selection.cross_validation import targets_of
from likely.selection.programs import fit_settings, with_params
from likely.selection.refits import TableRows
from likely.selection.scoring import Scoring
from likely.selection.search.batches import Setting, fixed_part, program_names
from likely.selection.search.pipelines import last_step_rows


class Outcome(NamedTuple):
    """What came of one setting."""

    scores: tuple[float, ...]
    failure: str = ""
    seconds: float = float("nan")


class Evaluation(NamedTuple):
    """All that the scores of settings depend on; it can be sent to another process."""

    estimator: Any
    rows: TableRows
    splits: Splits
    scoring: Scoring
    labels: np.ndarray | None = None
    """All classes, sorted; None where y is a number."""
    raises: bool = False
    """Whether an error ends the search."""

    @classmethod
    def of(cls, search: Any, X: Any, y: Any, sample_weight: Any, groups: Any):
        """The rows and folds of a search, checked.

        Args:
            search: with `estimator`, `cv`, `scoring` and `error_score`.
            X: inputs of any kind.
            y: targets.
            sample_weight: how often each row counts.
            groups: what each row belongs to.
        """
        estimator = search.estimator
        y = targets_of(estimator, X, sample_weight) if y is None else y
        X, y, groups = indexable(X, np.asarray(y), groups)
        w, classes = weights_of(sample_weight, len(y)), is_classifier(estimator)
        y = _targets(estimator, fill_absent_targets(y, w))
        groups = None if groups is None else np.asarray(groups)
        splits = cv_splits(search.cv, y, X, classes=classes, groups=groups, w=w)
        check_folds(splits, w)
        labels = np.unique(y[w > 0]) if classes else None
        raises = isinstance(search.error_score, str) and search.error_score == "raise"
        rows, scoring = TableRows(X, y, w, groups), Scoring.of(search.scoring)
        return cls(estimator, rows, splits, scoring, labels, raises)

    def __call__(self, settings: Sequence[Setting]) -> list[Outcome]:
        """What comes of settings that go together; errors become sentences."""
        start = time.perf_counter()
        try:
            scores = self.scores(settings)
        except Exception as error:
            if self.raises:
                raise
            if len(settings) > 1:  # which of them is to blame?
                return [outcome for one in settings for outcome in self([one])]
            nothing = (float("nan"),) * len(self.splits)
            took = time.perf_counter() - start
            ours = isinstance(error, InputError)  # a sentence
            failure = str(error) if ours else f"{type(error).__name__}: {error}"
            return [Outcome(nothing, failure or type(error).__name__, took)]
        took = (time.perf_counter() - start) / len(settings)
        return [_outcome(row, took) for row in scores]

    def scores(self, settings: Sequence[Setting]) -> Float[np.ndarray, "m j"]:
        """The score of every setting on every fold."""
        names = program_names(self.estimator)
        fixed = fixed_part(settings[0], names)
        if names and fixed is not None:
            base = with_params(self.estimator, fixed)
            numbers = [{k: s[k] for k in s if k in names} for s in settings]
            found = self._by_program(base, self.rows, numbers, self.splits)
            if found is not None:
                return found
        models = [with_params(self.estimator, setting) for setting in settings]
        return np.array([self._by_loop(model) for model in models])

    def _by_loop(self, model: Any) -> list[float]:
        return self.scoring.on_folds(model, self.rows, self.splits, self.labels)

    def _by_program(
        self, model: Any, rows: TableRows, settings: list[Setting], splits: Splits
    ) -> Float[np.ndarray, "m j"] | None:
        """Scores by one program (in a pipeline: one for each fold), or None."""
        if isinstance(model, Pipeline):
            return self._by_last_step(model, rows, settings, splits)
        if not self.scoring.judges_programs(model):
            return None
        w = None if (rows.w == 1).all() else rows.w
        judged = self.scoring.scorer is None
        given = (rows.X, rows.y, w)
        fits = fit_settings(model, given, settings, splits, judged=judged)
        return None if fits is None else self.scoring.of_fits(fits)

    def _by_last_step(
        self, pipe: Pipeline, rows: TableRows, settings: list[Setting], splits: Splits
    ) -> Float[np.ndarray, "m j"] | None:
        """The steps before the last one are fitted once for each fold."""
        name, last = pipe.steps[-1]
        own = [{k[len(name) + 2 :]: v for k, v in s.items()} for s in settings]
        columns = []
        for fold in splits:
            passed = last_step_rows(pipe, rows, fold)
            found = passed and self._by_program(last, passed[0], own, [passed[1]])
            if found is None:
                return None
            columns.append(found)
        return np.concatenate(columns, 1)


def _targets(estimator: Any, y: Any) -> np.ndarray:
    """Targets as the estimator takes them, checked before they are split into folds."""
    y, tags = np.asarray(y), estimator.__sklearn_tags__()
    if y.ndim == 2 and not tags.target_tags.multi_output:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    return y


def _outcome(scores: np.ndarray, seconds: float) -> Outcome:
    """Scores that are not finite are a failure."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if not len(bad):
        return Outcome(tuple(map(float, scores)), "", seconds)
    first = scores[bad[0]]
    how = "not a number; the fit may have diverged" if np.isnan(first) else f"{first:g}"
    failure = (
        f"the score is {how} in fold {bad[0]} ({len(bad)} of {len(scores)} folds)."
    )
    kept = np.where(np.isfinite(scores), scores, np.nan)
    return Outcome(tuple(map(float, kept)), failure, seconds)
