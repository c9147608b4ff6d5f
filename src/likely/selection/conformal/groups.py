"""Mondrian conformal prediction: each group of rows has scores of its own.

Coverage then holds in every group, and not only on average over all of them, at the price of
fewer scores for each. A group that the fit did not see has none, and infinite intervals.
"""

import warnings
from typing import Any

import numpy as np

from likely.core.checks import InputError


def encode_groups(groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels of groups, sorted, and the number of each row's."""
    labels, numbers = np.unique(np.asarray(groups), return_inverse=True)
    return labels, numbers.ravel()


def group_numbers(labels: np.ndarray | None, groups: Any, n: int) -> np.ndarray:
    """The number of the group of each of n new rows; −1 for one that the fit did not see.

    Args:
        labels: of the fit, sorted; None where it had no groups.
        groups: of the new rows.
        n: how many rows there are.
    """
    if (labels is None) != (groups is None):
        missing = "the fit had none" if labels is None else "the fit had them"
        raise InputError(f"groups must be given to fit and to predictions; {missing}.")
    if labels is None:
        return np.zeros(n, int)
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise InputError(f"groups has shape {groups.shape}; give one for each of {n}.")
    place = np.minimum(np.searchsorted(labels, groups), len(labels) - 1)
    return np.where(labels[place] == groups, place, -1)


def too_few(w: np.ndarray, coverage: float) -> bool:
    """Whether scores of these weights are too few for a coverage: n < 1/α − 1."""
    return bool(coverage * (w.sum() + 1) * (1 - 1e-12) > w.sum())


def warn_infinite(predictor: Any, whose: str, total: float, coverage: float) -> None:
    """Say that there are too few scores for a coverage, so that every y is possible.

    Args:
        predictor: the estimator.
        whose: the rows that were looked at, as the end of "calibration rows".
        total: their weight.
        coverage: what was asked for.
    """
    needed = int(np.ceil(coverage / (1 - coverage) - 1e-9))
    rows = f"{total:g} calibration row{'s' * (total != 1)}"
    warnings.warn(
        f"{type(predictor).__name__} has {rows}{whose}, and a coverage "
        f"of {coverage:g} needs {needed}: these predictions hold every possible y. Give "
        "more rows, or a lower coverage.",
        stacklevel=3,
    )


def described(labels: np.ndarray | None, group: int) -> str:
    """A group, as the end of "calibration rows"."""
    if group < 0:
        return " of a group that the fit did not see"
    return "" if labels is None else f" of group {labels.tolist()[group]!r}"
