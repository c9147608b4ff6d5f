"""What the checks are given, checked itself: a fitted predictor and rows that fit it."""

from typing import Any

import numpy as np
from sklearn.base import is_clusterer, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from likely.base.labels import codes_of
from likely.base.rows import check_numbers, fill_absent_targets, weights_of
from likely.core.checks import InputError
from likely.diagnostics.checks.subject import Options, Rows, Subject

MAX_LEAST_FOLDS = 5
"""Folds of two rows each are asked for, up to so many."""


def subject_of(
    model: Any, known: tuple, new: tuple, options: Options, n_checks: int
) -> Subject:
    """The model with its rows; absent ones are left out.

    Args:
        model: a fitted predictor, or a fitted search.
        known: inputs, targets, weights, groups and times of the rows of its fit.
        new: inputs, targets, groups and times of other rows, or None for each.
        options: how the checks are made.
        n_checks: how many checks share the level.
    """
    _check_predictor(model)
    if not 0 < options.level < 1 or not 0 < options.coverage < 1:
        raise InputError("level and coverage have to be between 0 and 1.")
    X, y, sample_weight, groups, time = known
    w = weights_of(sample_weight, len(np.asarray(y)))
    y = np.asarray(fill_absent_targets(y, w))
    rows = _rows(model, "", X, y, w, groups, time)
    rows = rows if (w > 0).all() else rows.take(np.flatnonzero(w > 0))
    least = 2 * min(options.cv, MAX_LEAST_FOLDS)
    if len(rows) < least:
        raise InputError(
            f"there are {len(rows)} rows; the checks need at least {least}."
        )
    X_test, y_test, groups_test, time_test = new
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test go together; give both, or none.")
    test = None
    if X_test is not None:
        y_test = np.asarray(y_test)
        ones = np.ones(len(y_test))
        test = _rows(model, "_test", X_test, y_test, ones, groups_test, time_test)
    return Subject(model, rows, test, options, n_checks)


def _check_predictor(model: Any) -> None:
    """Refuse what is not fitted, and what predicts no target."""
    check_is_fitted(model)
    other = is_clusterer(model) or is_outlier_detector(model)
    if other or not hasattr(model, "predict"):
        raise InputError(
            f"{type(model).__name__} predicts no target; the checks are for classifiers and "
            "regressors."
        )


def _rows(  # noqa: PLR0917
    model: Any, end: str, X: Any, y: np.ndarray, w: np.ndarray, groups: Any, time: Any
) -> Rows:
    """Rows whose parts have one length, with columns and targets that the model knows."""
    if y.ndim != 1:
        raise InputError(f"y{end} has shape {y.shape}; the checks are for one output.")
    shape = getattr(X, "shape", (len(X),))
    if shape[0] != len(y):
        raise InputError(
            f"X{end} has {shape[0]} rows but y{end} has {len(y)}; give as many of each."
        )
    columns = getattr(model, "n_features_in_", None)
    if len(shape) == 2 and columns is not None and shape[1] != columns:
        raise InputError(
            f"X{end} has {shape[1]} columns but the model was fitted to {columns}; give the "
            "columns of its fit."
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        check_numbers(model, y)
    else:
        codes_of(y, np.asarray(classes), f"y{end}")
    given = []
    for name, values in ((f"groups{end}", groups), (f"time{end}", time)):
        values = None if values is None else np.asarray(values)
        if values is not None and values.shape != y.shape:
            raise InputError(
                f"{name} has shape {values.shape}; give one for each of {len(y)} rows."
            )
        given.append(values)
    if given[1] is not None and given[1].dtype.kind not in "iufM":
        raise InputError(f"time{end} has to hold numbers or dates.")
    return Rows(X, y, w, *given)
