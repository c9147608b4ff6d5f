"""Search by Optuna: its samplers propose settings, its storage keeps and shares them."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, no_type_check

from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.selection.search.evaluation import Evaluation
from likely.selection.search.optuna_space import distribution_in, value_of
from likely.selection.search.record import identity, refuse_another
from likely.selection.search.runner import Runner
from likely.selection.search.search import AbstractSearch
from likely.selection.search.space import SCIPY, Space, checked_space
from likely.selection.search.trial import Trial

OPTUNA = "to_internal_repr"
"""A method that distributions of Optuna have."""
IDENTITY, OUTCOME = "likely search", "likely outcome"
"""Names under which a study keeps what it belongs to, and the scores of each trial."""


class OptunaSearch(AbstractSearch):
    """The best of settings that Optuna proposes, by held-out rows.

    A sampler of Optuna learns from finished trials where good settings lie. Its storage
    keeps them: a search that was killed goes on, and several processes or machines that name
    the same study share its trials. It needs Optuna (`pip install optuna`).

    Settings are proposed some at a time, so that those which are one program run as one. A
    search alone is a function of its seed; one that is shared, or goes on after a kill,
    depends on what had finished when.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline.
        param_distributions: by parameter, lists of values, distributions of `scipy.stats` or
            of Optuna.
        n_iter: trials that the study has in the end, those of other processes included.
        batch_size: settings that are proposed together.
        sampler: a sampler of Optuna; None is its tree-structured Parzen estimator.
        storage: where the study is kept, such as "sqlite:///search.db", or a storage of
            Optuna; None is memory.
        study_name: the name of the study in the storage.
        scoring: as in `GridSearch`.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        refit: whether to fit the best setting to all rows, as in `GridSearch`.
        rule: "best" or "one-standard-error", as in `GridSearch`.
        simpler: which parameters make a model simpler, as in `GridSearch`.
        random_state: seed of the sampler.
        error_score: NaN records a setting that fails and goes on; "raise" ends the search.
        verbose: whether to show a progress bar, and the best setting at the end.

    Attributes:
        trials_: the trials; this and the other attributes are those of `GridSearch`.
    """

    _keeps_journal = False
    param_distributions: Any
    n_iter: int
    batch_size: int
    sampler: Any
    storage: Any
    study_name: str

    @no_type_check  # scikit-learn: settings are checked in fit
    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 20,
        batch_size: int = 4,
        sampler: Any = None,
        storage: Any = None,
        study_name: str = "likely",
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
        name, given = "param_distributions", self.param_distributions
        space = checked_space(self.estimator, given, name, kinds=(*SCIPY, OPTUNA))
        if len(space) > 1:
            raise InputError("param_distributions is a list of dicts; give one dict.")
        return space

    def _explore(
        self, runner: Runner, evaluation: Evaluation, space: Space, seed: int
    ) -> list[Trial]:
        n = at_least("n_iter", self.n_iter, 1, whole=True)
        size = at_least("batch_size", self.batch_size, 1, whole=True)
        optuna = _optuna()
        proposals = {k: distribution_in(optuna, v) for k, v in space[0].items()}
        with _quiet(optuna):
            study = self._study(optuna, evaluation, seed)
            done = _finished(optuna, study)
            runner.bar.update(completed=len(done), total=n)
            while len(done) < n:
                asked = [study.ask(proposals) for _ in range(min(size, n - len(done)))]
                settings = [_setting(trial.params, space) for trial in asked]
                for own, found in zip(
                    asked, runner.run(evaluation, settings), strict=True
                ):
                    _tell(optuna, study, own, found)
                done = _finished(optuna, study)
        return [
            Trial(i, _setting(trial.params, space), *_outcome(trial))
            for i, trial in enumerate(done)
        ]

    def _study(self, optuna: Any, evaluation: Evaluation, seed: int) -> Any:
        """The study, new or found in the storage; that of another search is refused."""
        study = optuna.create_study(
            storage=self.storage,
            study_name=self.study_name,
            direction="maximize",
            load_if_exists=True,
        )
        now, saved = identity(self, evaluation), study.user_attrs.get(IDENTITY)
        if saved is None and study.trials:
            raise InputError(f"the study {self.study_name!r} is not one of likely.")
        if saved is None:
            study.set_user_attr(IDENTITY, now)
        else:
            refuse_another(f"the study {self.study_name!r} is one", saved, now)
        own = (seed + len(study.trials)) % 2**32
        default = optuna.samplers.TPESampler
        study.sampler = self.sampler or default(seed=own, constant_liar=True)
        return study


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise InputError(
            "OptunaSearch needs Optuna, which is not installed; run `pip install optuna`, "
            "or use RandomSearch."
        ) from None


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Warnings of Optuna alone, while a search runs."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _setting(chosen: dict[str, Any], space: Space) -> dict[str, Any]:
    return {k: value_of(chosen[k], values) for k, values in space[0].items()}


def _tell(optuna: Any, study: Any, trial: Any, found: Trial) -> None:
    """Give the outcome of a trial to the study, with the scores of its folds."""
    scores = [s if s == s else None for s in found.scores]
    trial.set_user_attr(OUTCOME, {"scores": scores, "failure": found.failure})
    if found.failure:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    else:
        study.tell(trial, found.mean)


def _finished(optuna: Any, study: Any) -> list[Any]:
    """The trials of all processes that have an outcome."""
    states = optuna.trial.TrialState
    found = study.get_trials(deepcopy=False, states=(states.COMPLETE, states.FAIL))
    return [trial for trial in found if OUTCOME in trial.user_attrs]


def _outcome(trial: Any) -> tuple[tuple[float, ...], str]:
    kept = trial.user_attrs[OUTCOME]
    return tuple(float("nan") if s is None else s for s in kept["scores"]), kept[
        "failure"
    ]
