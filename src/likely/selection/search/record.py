"""The journal of a search: which search it belongs to, and the trials that are finished."""

import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from os import PathLike
from typing import Any

from likely.core.checks import InputError
from likely.files.journal import Journal
from likely.selection.search.batches import Setting
from likely.selection.search.description import describe, digest
from likely.selection.search.evaluation import Evaluation, Outcome

KIND = "hyper-parameter search of likely"
PACKAGES = ("likely", "jax", "numpy", "scikit-learn")
"""Those whose versions decide the last digits."""
DIFFERENCES = {
    "search": "it is of another kind",
    "estimator": "its estimator is another one",
    "scoring": "its scores are others",
    "rows": "its rows (X, y, weights or groups) are others",
    "folds": "its folds are others (a splitter that shuffles needs a random_state)",
    "seed": "its random_state is another one",
}


def identity(search: Any, evaluation: Evaluation) -> dict[str, Any]:
    """What makes a search the same one: its kind, estimator, scores, rows and folds."""
    rows, splits = evaluation.rows, evaluation.splits
    return {
        "search": type(search).__name__,
        "estimator": describe(evaluation.estimator),
        "scoring": evaluation.scoring.name,
        "rows": digest(*rows),
        "folds": digest(*(side for fold in splits for side in fold)),
    }


def refuse_another(where: str, saved: Mapping, now: Mapping) -> None:
    """An error where what was saved belongs to another search.

    Args:
        where: what it was saved in, as the beginning of a sentence.
        saved: the identity in it.
        now: that of this search.
    """
    for name in now:
        if saved.get(name) != now[name]:
            raise InputError(
                f"{where} of another search: {DIFFERENCES[name]}. Give another name, or "
                "the same search again."
            )


def open_journal(
    path: str | PathLike | None, search: Any, evaluation: Evaluation, seed: int
) -> Journal | None:
    """The journal of a search, new or resumed; None where no path is given.

    Args:
        path: the file.
        search: whose journal it is.
        evaluation: its rows, folds and scores.
        seed: of its draws; a search without one goes on with that of the journal.
    """
    if path is None:
        return None
    same = identity(search, evaluation)
    if getattr(search, "random_state", 0) is not None:
        same["seed"] = seed
    versions = {package: version(package) for package in PACKAGES}

    def compare(saved: dict, now: dict) -> None:
        refuse_another(f"{str(path)!r} is the journal", saved, same)
        if saved.get("versions") != now["versions"]:
            warnings.warn(
                f"{str(path)!r} was begun with {saved.get('versions')} and goes on with "
                f"{now['versions']}: the last digits of scores may differ.",
                stacklevel=2,
            )

    header = {**same, "seed": seed, "versions": versions}
    return Journal(path, KIND, header, compare)


def entry_of(
    numbers: Sequence[int],
    settings: Sequence[Setting],
    resource: int | None,
    outcomes: Sequence[Outcome],
) -> dict[str, Any]:
    """The line of trials that finished together."""
    return {
        "trials": list(numbers),
        "params": [describe(setting) for setting in settings],
        "resource": resource,
        "scores": [[s if s == s else None for s in o.scores] for o in outcomes],
        "failures": [outcome.failure for outcome in outcomes],
    }


def recorded_outcomes(
    journal: Journal, first: int, settings: Sequence[Setting], resource: int | None
) -> dict[int, Outcome]:
    """Outcomes of settings that a journal has, by their position.

    Args:
        journal: the journal.
        first: the number of the first of these trials.
        settings: what is tried.
        resource: what each fit is given.
    """
    found = {}
    for entry in journal.entries:
        for i, number in enumerate(entry["trials"]):
            place = number - first
            if not 0 <= place < len(settings):
                continue
            same = entry["params"][i] == describe(settings[place])
            if not same or entry["resource"] != resource:
                raise InputError(
                    f"{str(journal.path)!r} is the journal of another search: its trial "
                    f"{number} has {entry['params'][i]}. Give another name, or the same "
                    "search again."
                )
            scores = (float("nan") if s is None else s for s in entry["scores"][i])
            found[place] = Outcome(tuple(scores), entry["failures"][i])
    return found
