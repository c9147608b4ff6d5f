"""Predictions of rows by fits that did not see them, and what checks ask of them."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from likely.base.labels import codes_of, smallest_set
from likely.core.checks import InputError
from likely.evaluate.splits import Folds, grouped_k_fold, k_fold, stratified_k_fold
from likely.selection.members import distribution_of, fitted, is_point_regressor

MAX_REFUSED = 3
"""Rows of a class from which on every fold is given one of them."""


class Predicted(NamedTuple):
    """Predictions of n rows, beside what happened."""

    y: np.ndarray
    """(n,) numbers, or codes of classes."""
    w: np.ndarray
    """(n,) how often each row counts; 0 for rows that were not predicted."""
    mean: np.ndarray
    """(n,) means, or (n, c) probabilities of classes; 0 and 1 where there are none."""
    loss: np.ndarray
    """(n,) −log p(y | x), in nats; NaN for labels without probabilities."""
    low: np.ndarray | None = None
    """The lower ends of intervals, where there are distributions of numbers."""
    high: np.ndarray | None = None
    pit: np.ndarray | None = None
    """P(Y ≤ y), where y has a density."""
    std: np.ndarray | None = None
    """Standard deviations of the predicted distributions."""
    covered: np.ndarray | None = None
    """Whether the interval, or the smallest set, contains y."""

    @property
    def is_class(self) -> bool:
        """Whether y is a class."""
        return self.mean.ndim == 2

    @property
    def error(self) -> np.ndarray:
        """(n,) the squared error; of probabilities summed over classes (Brier)."""
        if not self.is_class:
            return (self.y - self.mean) ** 2
        happened = np.eye(self.mean.shape[1])[self.y.astype(int)]
        return ((self.mean - happened) ** 2).sum(1)

    @property
    def wrong(self) -> np.ndarray:
        """(n,) 1 where the most probable class is another one."""
        return (self.mean.argmax(1) != self.y).astype(float)


def predicted(
    model: Any,
    X: Any,
    y: np.ndarray,
    w: np.ndarray,
    *,
    classes: np.ndarray | None,
    coverage: float = 0.9,
    scale: float | None = None,
) -> Predicted:
    """The predictions of a fitted model for rows.

    Args:
        model: the fitted predictor.
        X: inputs.
        y: labels, or numbers.
        w: how often each row counts.
        classes: all labels, sorted; None where y is a number.
        coverage: of intervals and sets.
        scale: the spread of the errors of a model that predicts numbers only; None for
            that of these rows.
    """
    if classes is not None and not hasattr(model, "predict_proba"):
        codes = codes_of(y, classes, "y")
        called = codes_of(np.asarray(model.predict(X)), classes, "y").astype(int)
        return Predicted(
            codes, w, np.eye(len(classes))[called], np.full(len(y), np.nan)
        )
    if classes is not None:
        found = distribution_of(model, X, classes)
        codes, probs = codes_of(y, classes, "y"), np.asarray(found.probs)
        covered = smallest_set(probs, coverage)[np.arange(len(y)), codes.astype(int)]
        return Predicted(codes, w, probs, -found.log_prob(y), covered=covered)
    y = np.asarray(y, np.float64)
    if is_point_regressor(model):
        mean = np.asarray(model.predict(X), np.float64)
        return point_predictions(y, w, mean, scale)
    found = distribution_of(model, X, None)
    low, high = found.interval(coverage)
    pit = None if found.discrete else np.asarray(found.cdf(y))
    inside = (low <= y) & (y <= high)
    with np.errstate(all="ignore"):
        std = np.asarray(found.std)
    loss = -found.log_prob(y)
    mean = np.asarray(found.mean)
    return Predicted(y, w, mean, loss, low, high, pit, std, inside)


def point_predictions(
    y: np.ndarray, w: np.ndarray, mean: np.ndarray, scale: float | None
) -> Predicted:
    """The predictions of a model of numbers only, taken for means of normals."""
    error = y - mean
    s = np.sqrt(max(w @ error**2 / w.sum(), 1e-300)) if scale is None else scale
    loss = 0.5 * (error / s) ** 2 + np.log(s) + 0.5 * np.log(2 * np.pi)
    return Predicted(y, w, mean, loss)


class CrossFitted(NamedTuple):
    """Held-out predictions of all rows, and what happened on the way."""

    rows: Predicted
    fold: np.ndarray
    """(n,) the fold that held each row out; −1 for absent rows."""
    not_converged: int = 0
    """How many of the fits said that they did not converge."""


def cross_fitted(
    model: Any,
    X: Any,
    y: np.ndarray,
    w: np.ndarray,
    fold: np.ndarray,
    *,
    classes: np.ndarray | None,
    coverage: float = 0.9,
) -> CrossFitted:
    """Predictions of every row by a copy that was fitted without its fold.

    Args:
        model: the predictor; it is not changed.
        X: inputs.
        y: labels, or numbers.
        w: how often each row counts; absent rows are not predicted.
        fold: (n,) the fold of each row.
        classes: all labels, sorted; None where y is a number.
        coverage: of intervals and sets.
    """
    weighted = not (w[w > 0] == 1).all()
    parts, places, failed = [], [], 0
    for j in np.unique(fold[fold >= 0]):
        train, out = np.flatnonzero((fold != j) & (w > 0)), np.flatnonzero(fold == j)
        own = w[train] if weighted else None
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            copy = fitted(model, _safe_indexing(X, train), y[train], own)
            failed += any(issubclass(t.category, ConvergenceWarning) for t in told)
            part = _safe_indexing(X, out), y[out], w[out]
            kept = {"classes": classes, "coverage": coverage}
            parts.append(predicted(copy, *part, **kept))
        places.append(out)
    rows = _joined(parts, places, w)
    if classes is None and is_point_regressor(model):
        here = w > 0  # one scale for all folds
        s = np.sqrt(max(w[here] @ (rows.y - rows.mean)[here] ** 2 / w.sum(), 1e-300))
        rows = point_predictions(rows.y, w, rows.mean, float(s))
    return CrossFitted(rows, fold, failed)


def _joined(
    parts: Sequence[Predicted], places: Sequence[np.ndarray], w: np.ndarray
) -> Predicted:
    """The predictions of all folds, each row in its place."""

    def join(arrays: Sequence[Any]) -> Any:
        if arrays[0] is None:
            return None
        found = np.zeros((len(w), *arrays[0].shape[1:]))
        for rows, values in zip(places, arrays, strict=True):
            found[rows] = values
        return found

    return Predicted(*(join(arrays) for arrays in zip(*parts, strict=True)))._replace(
        w=w
    )


def fold_numbers(
    y: np.ndarray,
    w: np.ndarray,
    cv: int,
    *,
    classes: bool,
    groups: Any = None,
    random_state: int = 0,
) -> np.ndarray:
    """(n,) the fold of each row, at random: stratified for classes, groups together.

    Args:
        y: labels, or numbers.
        w: how often each row counts.
        cv: the number of folds.
        classes: whether y is a class.
        groups: what each row belongs to, or None.
        random_state: a seed.
    """
    n = int((w > 0).sum())
    if not 2 <= cv <= n:
        raise InputError(f"cv is {cv} and {n} rows count; give 2 to {n} folds.")
    here = (w > 0).astype(float)
    kept: dict[str, Any] = {"sample_weight": here, "random_state": random_state}
    folds: Folds
    if groups is not None:
        folds = grouped_k_fold(groups, cv, **kept)
    elif classes:
        folds = stratified_k_fold(y, cv, **kept)
    else:
        folds = k_fold(len(y), cv, **kept)
    return folds.numbers


def check_classifier(model: Any, what: str) -> None:
    """Refuse models that predict no classes."""
    if not is_classifier(model):
        raise InputError(
            f"{what} is for classes, and {type(model).__name__} predicts none."
        )
