"""Grid search: every combination of the values of hyper-parameters."""

from typing import Any, no_type_check

from likely.base.settings import store
from likely.selection.search.evaluation import Evaluation
from likely.selection.search.runner import Runner
from likely.selection.search.search import AbstractSearch
from likely.selection.search.space import Space, checked_space, grid_settings
from likely.selection.search.trial import Trial


class GridSearch(AbstractSearch):
    """The best of all combinations of hyper-parameters, by held-out rows.

    Settings of linear models and networks that differ in numbers alone (penalties, learning
    rates) are fitted on all folds by one compiled program.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        param_grid: values by parameter, such as `{"alpha": [0.1, 1.0]}`, or a list of such
            dicts.
        scoring: None for held-out nats, or a score of scikit-learn: a name such as "r2", or
            a function of an estimator, X and y. More is better: nats count as the mean of
            log p(y | x).
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        refit: whether to fit the best setting to all rows; a function of `cv_results_` gives
            the index of the setting to choose.
        rule: "best", or "one-standard-error" for the simplest setting within one standard
            error of the best.
        simpler: which parameters make a model simpler, and in which direction, the first
            counting most: `{"alpha": "larger"}`. None takes what is known of common names:
            penalties, depths, neighbours, widths.
        error_score: NaN records a setting that fails and goes on; "raise" ends the search.
        verbose: whether to show a progress bar, and the best setting at the end.

    Attributes:
        best_params_: the chosen setting.
        best_estimator_: fitted with it to all rows.
        best_score_: its mean score over folds.
        best_index_: its place among the trials.
        cv_results_: the trials as columns, with the names of scikit-learn's `GridSearchCV`.
        trials_: the trials: parameters, scores of the folds, failures.
        at_edge_: parameters of which the chosen value is the smallest or largest tried.
        n_splits_: the number of folds.
        classes_: the labels, of a classifier.
        scale_: the scale of the errors of a regressor that predicts numbers only.

    Examples:
        >>> table = lk.data.diabetes()
        >>> search = lk.GridSearch(lk.Ridge(), {"alpha": [0.01, 1.0]}).fit(table.X, table.y)
        >>> print(search.best_params_)
        {'alpha': 0.01}
    """

    param_grid: Any

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        cv: Any = 5,
        refit: Any = True,
        rule: str = "best",
        simpler: Any = None,
        error_score: Any = float("nan"),
        verbose: Any = False,
    ):
        store(self, locals())

    def _space(self) -> Space:
        return checked_space(self.estimator, self.param_grid, "param_grid")

    def _explore(
        self, runner: Runner, evaluation: Evaluation, space: Space, seed: int
    ) -> list[Trial]:
        settings = grid_settings(space)
        runner.bar.update(total=len(settings))
        return runner.run(evaluation, settings)
