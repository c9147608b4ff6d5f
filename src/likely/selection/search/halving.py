"""Successive halving: many settings get little, the best of them more."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.selection.search.batches import Setting
from likely.selection.search.evaluation import Evaluation
from likely.selection.search.rungs import ROWS, Rungs, fewer_rows, limits
from likely.selection.search.runner import Runner
from likely.selection.search.search import AbstractSearch
from likely.selection.search.space import (
    SCIPY,
    Space,
    checked_space,
    drawn_settings,
    grid_settings,
    is_grid,
)
from likely.selection.search.trial import Trial


class SuccessiveHalving(AbstractSearch):
    """The best of many settings, most of which are dropped early.

    All candidates are first fitted with few rows (or iterations); the best third of them
    is fitted with three times as many, and so on. It is for fits that take long, where few
    rows tell good settings from bad ones; a bad early score is final.

    Rows are taken by weights: a rung learns from a share of the training rows of each fold,
    those of the rung before among them, and is judged on all rows held out.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        param_distributions: lists of values, and distributions of `scipy.stats`, by
            parameter, or a list of such dicts.
        n_candidates: settings of the first rung; "auto" is every combination where there are
            lists alone, and otherwise as many as bring one of them to the last rung.
        factor: by which the number of candidates falls, and what each is given grows.
        resource: "n_samples" for rows, or a parameter of the estimator that counts
            iterations, such as "max_iter" or "n_estimators".
        min_resources: what each candidate gets in the first rung; "auto" is as much as lets
            the last rung have `max_resources`.
        max_resources: what a candidate gets at most; "auto" is all rows, or the value of
            the estimator itself.
        scoring: as in `GridSearch`.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        refit: whether to fit the best setting to all rows, as in `GridSearch`.
        rule: "best" or "one-standard-error", among the trials of the last rung.
        simpler: which parameters make a model simpler, as in `GridSearch`.
        random_state: seed of the draws and of the order in which rows are taken.
        error_score: NaN records a setting that fails and goes on; "raise" ends the search.
        verbose: whether to show a progress bar, and the best setting at the end.

    Attributes:
        n_candidates_: the settings of each rung.
        n_resources_: what each of them was given.
        trials_: the trials of all rungs; `cv_results_` has their `iter` and `n_resources`.
            The other attributes are those of `GridSearch`.
    """

    param_distributions: Any
    n_candidates: Any
    factor: float
    resource: str
    min_resources: Any
    max_resources: Any
    n_candidates_: list[int]
    n_resources_: list[int]

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: Any = "auto",
        factor: float = 3,
        resource: str = ROWS,
        min_resources: Any = "auto",
        max_resources: Any = "auto",
        scoring: Any = None,
        cv: Any = 5,
        refit: Any = True,
        rule: str = "best",
        simpler: Any = None,
        random_state: Any = 0,
        error_score: Any = float("nan"),
        verbose: Any = False,
    ):
        store(self, locals())

    def _space(self) -> Space:
        space = checked_space(
            self.estimator, self.param_distributions, "param_distributions", kinds=SCIPY
        )
        if any(self.resource in part for part in space):
            raise InputError(
                f"{self.resource} is the resource and also in param_distributions; leave "
                "it out of one of them."
            )
        return space

    def _explore(
        self, runner: Runner, evaluation: Evaluation, space: Space, seed: int
    ) -> list[Trial]:
        if not float(self.factor) > 1:
            raise InputError(f"factor is {self.factor}; give a number above 1.")
        least, most, sense = limits(self, evaluation)
        settings = self._candidates(space, seed, most / max(least or sense, 1))
        rungs = Rungs.of(len(settings), float(self.factor), least, most, sense)
        self.n_candidates_, self.n_resources_ = rungs
        runner.bar.update(total=sum(rungs.candidates))
        trials: list[Trial] = []
        for k, (count, resource) in enumerate(zip(*rungs, strict=True)):
            settings = settings if k == 0 else _survivors(trials, k - 1, count)
            given, own = settings, evaluation
            if self.resource == ROWS:
                splits = fewer_rows(evaluation, resource, seed)
                own = evaluation._replace(splits=splits)
            else:
                given = [{**setting, self.resource: resource} for setting in settings]
            where = {"first": len(trials), "resource": resource, "rung": k}
            trials += runner.run(own, given, **where)
        return trials

    def _candidates(self, space: Space, seed: int, ratio: float) -> list[Setting]:
        """The settings of the first rung.

        Args:
            space: lists and distributions.
            seed: of the draws.
            ratio: the most that a fit is given, in units of the least.
        """
        if not isinstance(self.n_candidates, str):
            n = at_least("n_candidates", self.n_candidates, 1, whole=True)
            return drawn_settings(space, n, seed)
        if is_grid(space):
            return grid_settings(space)
        return drawn_settings(space, max(1, int(ratio)), seed)


def _survivors(trials: list[Trial], rung: int, count: int) -> list[Setting]:
    """The settings of the best trials of a rung, in the order of their trials."""
    last = [trial for trial in trials if trial.rung == rung]
    scores = np.array([trial.mean for trial in last])
    scores = np.where(np.isnan(scores), -np.inf, scores)
    best = np.sort(np.argsort(-scores, kind="stable")[:count])
    return [last[i].params for i in best]
