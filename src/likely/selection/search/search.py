r"""The face of every search: the best setting of an estimator, refitted, is the predictor.

A search tries settings by cross-validation, keeps every trial, chooses one by its rule,
and fits the estimator to all rows with it. Predictions are those of this fit.
"""

import sys
from abc import ABC, abstractmethod
from concurrent.futures import Executor
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likely.base.predictor import Predictor
from likely.base.settings import one_of
from likely.core.checks import InputError
from likely.core.progress import Bar
from likely.core.random import seed_of
from likely.selection.members import (
    distribution_of,
    has_distribution,
    is_point_regressor,
    last_step,
    split_last,
)
from likely.selection.programs import with_params
from likely.selection.refits import TableRows, fit_rows, inner_scale
from likely.selection.scoring import Scoring
from likely.selection.search.evaluation import Evaluation
from likely.selection.search.record import open_journal
from likely.selection.search.results import results_table
from likely.selection.search.rules import RULES, chosen_trial
from likely.selection.search.runner import Runner
from likely.selection.search.space import Space, parameters_at_edge
from likely.selection.search.trial import Trial


def _has_decision_function(search: Any) -> bool:
    return hasattr(
        getattr(search, "best_estimator_", search.estimator), "decision_function"
    )


def _every_row(evaluation: Evaluation) -> TableRows:
    return evaluation.rows.part(np.arange(len(evaluation.rows.w)))


class AbstractSearch(Predictor, ABC):
    """What all searches share; you write `_space` and `_explore`."""

    _keeps_journal: ClassVar[bool] = True
    """Whether trials can be kept in a journal."""
    estimator: Any
    cv: Any
    scoring: Any
    refit: Any
    rule: str
    simpler: Any
    error_score: Any
    verbose: Any
    trials_: list[Trial]
    best_estimator_: Any
    scale_: Any

    @abstractmethod
    def _space(self) -> Space:
        """The values of each parameter, checked."""

    @abstractmethod
    def _explore(
        self, runner: Runner, evaluation: Evaluation, space: Space, seed: int
    ) -> list[Trial]:
        """Try settings; all trials in their order."""

    # Fitting ---------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        journal: str | PathLike | None = None,
        executor: Executor | None = None,
    ):
        """Try the settings, choose one, and fit it to all rows.

        Args:
            X: (n, d) inputs: an array, a sparse matrix or a frame.
            y: (n,) targets; a model made by `from_formula` has them in the frame.
            sample_weight: how often each row counts, in fits and in scores.
            groups: what each row belongs to; a number of folds keeps groups together, and
                splitters such as `GroupKFold` get them.
            journal: a file in which every finished trial is kept; a search that was killed
                goes on from there.
            executor: where trials run, such as a `ProcessPoolExecutor` or that of a
                cluster; settings that are one program are one job. In this process where
                None.
        """
        one_of("rule", self.rule, RULES)
        if isinstance(self.refit, str):
            raise InputError(
                f"refit is {self.refit!r}; give True, False or a function of cv_results_. "
                f"How the best is chosen is rule, one of {', '.join(RULES)}."
            )
        if journal is not None and not self._keeps_journal:
            raise InputError(
                f"{type(self).__name__} keeps its trials in its storage; leave journal out."
            )
        space = self._space()
        evaluation = Evaluation.of(self, X, y, sample_weight, groups)
        seed = seed_of(getattr(self, "random_state", 0))
        book = open_journal(journal, self, evaluation, seed)
        bar = Bar(enabled=bool(self.verbose))
        try:
            bar.start()
            seed = seed if book is None else int(book.header["seed"])
            runner = Runner(bar, book, executor)
            self.trials_ = self._explore(runner, evaluation, space, seed)
        finally:
            bar.stop()
            if book is not None:
                book.close()
        self.n_splits_ = len(evaluation.splits)
        if all(trial.failure for trial in self.trials_):
            model = with_params(self.estimator, self.trials_[0].params)
            fit_rows(model, _every_row(evaluation))  # may show the error itself
        self._choose(space)
        self._refit(evaluation)
        return self

    def _choose(self, space: Space) -> None:
        """Set `best_index_` and what belongs to it."""
        last = [t for t in self.trials_ if t.rung == self.trials_[-1].rung]
        best = chosen_trial(last, self.rule, self.simpler)
        if callable(self.refit):
            choice: Any = self.refit(self.cv_results_)
            best = self.trials_[int(choice)]
        self.best_index_, self.best_params_ = best.number, best.params
        self.best_score_ = best.mean
        tried = (trial.params for trial in self.trials_)
        self.at_edge_ = parameters_at_edge(space, tried, best.params)
        if self.verbose:
            print(self._sentence(), file=sys.stderr)

    def _sentence(self) -> str:
        failed = sum(bool(trial.failure) for trial in self.trials_)
        found = f"{self.best_params_} scored {self.best_score_:.4g}"
        edge = ", ".join(self.at_edge_)
        return "".join(
            [
                f"{len(self.trials_)} trials; {found}.",
                f" {failed} failed." if failed else "",
                f" It lies at the edge of {edge}: try values beyond." if edge else "",
            ]
        )

    def _refit(self, evaluation: Evaluation) -> None:
        """Fit the chosen setting to all rows."""
        for name in ("best_estimator_", "scale_", "classes_"):
            vars(self).pop(name, None)
        if evaluation.labels is not None:
            self.classes_ = evaluation.labels
        if not self.refit:
            return
        model = with_params(self.estimator, self.best_params_)
        every = _every_row(evaluation)
        self.best_estimator_ = fit_rows(model, every)
        point = is_point_regressor(self.best_estimator_)
        self.scale_ = inner_scale(model, every) if point else 1.0
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The trials as columns with the names that scikit-learn gives them."""
        check_is_fitted(self, "trials_")
        return results_table(self.trials_)

    # Predicting ------------------------------------------------------------------------

    def predict(self, X: Any, **known: Any) -> np.ndarray:
        """What the best estimator predicts.

        Args:
            X: (n, d) inputs.
            known: what else the best estimator takes.
        """
        return self._best.predict(X, **known)

    def predict_dist(self, X: Any, **options: Any) -> Any:
        """p(y | x) of each row, by the best estimator.

        A regressor that predicts numbers only is the mean of a normal distribution with
        the scale of its held-out errors.

        Args:
            X: (n, d) inputs.
            options: of `predict_dist` of the best estimator.
        """
        best = self._best
        if has_distribution(last_step(best)):
            last, inputs = split_last(best, X)
            return last.predict_dist(inputs, **options)
        classes = self.classes_ if self._predicts_classes else None
        return distribution_of(best, X, classes, self.scale_)

    @available_if(_has_decision_function)
    def decision_function(self, X: Any) -> np.ndarray:
        """That of the best estimator."""
        return self._best.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that was searched by; accuracy or R² where that was nats.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts.
        """
        best, scoring = self._best, Scoring.of(self.scoring)
        if scoring.scorer is None:
            w = {} if sample_weight is None else {"sample_weight": sample_weight}
            return float(best.score(X, y, **w))
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        every = np.flatnonzero(w > 0)
        return scoring.of_model(best, TableRows(X, np.asarray(y), w).part(every))

    def plot(self, **options: Any) -> Any:
        """A picture of the scores over the settings, as a Matplotlib figure.

        Args:
            options: of `plots.search_scores`.
        """
        from likely.plots import search_scores

        check_is_fitted(self, "trials_")
        label = f"held-out {Scoring.of(self.scoring).name}"
        label = "held-out log-likelihood, nats" if self.scoring is None else label
        return search_scores(
            [trial.params for trial in self.trials_],
            np.array([trial.mean for trial in self.trials_]),
            np.array([trial.standard_error for trial in self.trials_]),
            best=self.best_index_,
            **{"label": label} | options,
        )

    @property
    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _probs(self, X: Any) -> np.ndarray:
        return self._best.predict_proba(X)

    @property
    def _predicts_classes(self) -> bool:
        return bool(is_classifier(self.estimator))

    def _without_distribution(self) -> str | None:
        """Why there is no distribution: a classifier without probabilities has none."""
        model = getattr(self, "best_estimator_", self.estimator)
        if self._predicts_classes and not hasattr(model, "predict_proba"):
            return f"{type(last_step(model)).__name__} has no predict_proba."
        return None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags
