"""Random search: settings drawn from distributions."""

from typing import Any, no_type_check

from likely.base.settings import at_least, store
from likely.selection.search.evaluation import Evaluation
from likely.selection.search.runner import Runner
from likely.selection.search.search import AbstractSearch
from likely.selection.search.space import (
    SCIPY,
    Space,
    checked_space,
    drawn_settings,
)
from likely.selection.search.trial import Trial


class RandomSearch(AbstractSearch):
    """The best of some settings that are drawn at random, by held-out rows.

    Where a few of many parameters matter, random settings try as many different values of
    each as there are trials, and a grid only a few. Trial i is a function of (seed, i): a
    longer search begins with the trials of a shorter one. Lists alone are drawn without
    repetition.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        param_distributions: lists of values, and distributions of `scipy.stats`, by
            parameter: `{"alpha": scipy.stats.loguniform(1e-4, 10)}`; or a list of such dicts.
        n_iter: how many settings are tried.
        scoring: as in `GridSearch`.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        refit: whether to fit the best setting to all rows, as in `GridSearch`.
        rule: "best" or "one-standard-error", as in `GridSearch`.
        simpler: which parameters make a model simpler, as in `GridSearch`.
        random_state: seed of the draws.
        error_score: NaN records a setting that fails and goes on; "raise" ends the search.
        verbose: whether to show a progress bar, and the best setting at the end.

    Attributes:
        at_edge_: parameters of which the chosen value is the smallest or largest of a list,
            or in the outer twentieth of its distribution.
        trials_: the trials; this and the other attributes are those of `GridSearch`.

    Examples:
        >>> table = lk.data.diabetes()
        >>> search = lk.RandomSearch(lk.Ridge(), {"alpha": [0.01, 0.1, 1.0]}, n_iter=2)
        >>> len(search.fit(table.X, table.y).cv_results_["params"])
        2
    """

    param_distributions: Any
    n_iter: int

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 20,
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
        return checked_space(
            self.estimator, self.param_distributions, "param_distributions", kinds=SCIPY
        )

    def _explore(
        self, runner: Runner, evaluation: Evaluation, space: Space, seed: int
    ) -> list[Trial]:
        n = at_least("n_iter", self.n_iter, 1, whole=True)
        settings = drawn_settings(space, n, seed)
        runner.bar.update(total=len(settings))
        return runner.run(evaluation, settings)
