"""Trials as the table that scikit-learn calls `cv_results_`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from likely.selection.search.trial import Trial


def results_table(trials: Sequence[Trial]) -> dict[str, Any]:
    """A column for each key of scikit-learn, a row for each trial.

    `mean_fit_time` is the time of a fit with its score; trials of one program share its
    time evenly. `failure` is added: a sentence, empty where there is a score.
    """
    table: dict[str, Any] = {}
    unknown = np.full(len(trials), np.nan)
    seconds = np.array([trial.seconds / len(trial.scores) for trial in trials])
    table["mean_fit_time"], table["std_fit_time"] = seconds, unknown
    table["mean_score_time"], table["std_score_time"] = unknown, unknown
    table |= _parameter_columns(trials)
    table["params"] = [trial.params for trial in trials]
    if trials[0].resource is not None:
        table["iter"] = np.array([trial.rung for trial in trials])
        table["n_resources"] = np.array([trial.resource for trial in trials])
    scores = np.array([trial.scores for trial in trials])
    for j, column in enumerate(scores.T):
        table[f"split{j}_test_score"] = column
    table["mean_test_score"] = np.array([trial.mean for trial in trials])
    table["std_test_score"] = scores.std(1)
    table["rank_test_score"] = _ranks(table["mean_test_score"])
    table["failure"] = np.array([trial.failure for trial in trials])
    return table


def _parameter_columns(trials: Sequence[Trial]) -> dict[str, np.ma.MaskedArray]:
    """The values of each parameter, masked where a trial has none."""
    names = sorted({name for trial in trials for name in trial.params})
    columns = {}
    for name in names:
        column = np.ma.MaskedArray(np.empty(len(trials), object), mask=True)
        for i, trial in enumerate(trials):
            if name in trial.params:
                column[i] = trial.params[name]
        columns[f"param_{name}"] = column
    return columns


def _ranks(means: np.ndarray) -> np.ndarray:
    """1 for the best; failures share the last rank."""
    worst = np.nanmin(means) - 1 if np.isfinite(means).any() else 0.0
    filled = np.where(np.isnan(means), worst, means)
    return rankdata(-filled, method="min").astype(np.int32)
