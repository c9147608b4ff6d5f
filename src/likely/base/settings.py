"""Settings of estimators: stored untouched, checked in `fit`, refused in a sentence."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from likely.core.checks import InputError, suggestion


def store(estimator: Any, arguments: Mapping[str, Any]) -> None:
    """Store the arguments of `__init__` untouched, as scikit-learn asks.

    Call it as `store(self, locals())`, first thing in `__init__`.
    """
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def at_least(
    name: str, value: Any, minimum: float | int = 0, *, whole: bool = False
) -> Any:
    """A setting that has to be a number of at least `minimum`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not number >= minimum or (whole and number != int(number)):
        kind = "whole number" if whole else "number"
        raise InputError(f"{name} is {value}; give a {kind} of at least {minimum:g}.")
    return int(number) if whole else number


def above_zero(name: str, value: Any) -> float:
    """A setting that has to be a number above zero."""
    if not float(value) > 0:
        raise InputError(f"{name} is {value}; give a number above 0.")
    return float(value)


def one_of(name: str, value: Any, known: Iterable[str]) -> Any:
    """A setting that has to be one of a few words."""
    known = list(known)
    if value not in known:
        raise InputError(
            f"{name} is {value!r}; {suggestion(value, known, 'give one of')}"
        )
    return value


def column_mask(columns: Any, d: int, names: Any) -> np.ndarray:
    """(d,) booleans: the columns that are meant by number, name or mask."""
    mask = np.zeros(d, bool)
    if columns is None:
        return mask
    columns = np.asarray(columns)
    if columns.dtype == bool and columns.shape == (d,):
        return columns.copy()
    known = [] if names is None else list(names)
    for column in columns.ravel().tolist():
        if column in known:
            mask[known.index(column)] = True
        elif isinstance(column, int) and -d <= column < d:
            mask[column] = True
        else:
            raise InputError(
                f"categorical_features has {column!r}; give numbers below {d}, names of "
                "columns, or a mask."
            )
    return mask
