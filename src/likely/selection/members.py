r"""The predictive distribution of any predictor: ours, scikit-learn's, a pipeline.

A regressor with `predict_dist` has its own distribution (in a pipeline: the last step has),
a classifier that of its `predict_proba`; a regressor that predicts numbers only is taken for
the mean of a normal distribution whose scale was learned from held-out errors.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from likely.base.labels import frequency_distribution
from likely.base.outputs import joint_distribution
from likely.base.predictor import Predictor
from likely.core.checks import InputError
from likely.families import Normal, Predictive

MIN_VARIANCE = 1e-300
"""The smallest mean squared held-out error."""


def fitted(estimator: Any, X: Any, y: np.ndarray, w: np.ndarray | None) -> Any:
    """A fitted copy; weights need an estimator that takes them.

    In a pipeline every step that takes weights gets them, and the last one has to.
    """
    copy: Any = clone(estimator)
    if w is None:
        return copy.fit(X, y)
    last = last_step(copy)
    if not has_fit_parameter(last, "sample_weight"):
        raise InputError(
            f"{type(last).__name__} takes no sample_weight; leave it out, or repeat "
            "rows."
        )
    return copy.fit(X, y, **weight_arguments(copy, w))


def is_point_regressor(estimator: Any) -> bool:
    """Whether a regressor predicts numbers only."""
    return not (is_classifier(estimator) or has_distribution(last_step(estimator)))


def has_distribution(estimator: Any) -> bool:
    """Whether it has `predict_dist`, and its settings allow it (SVR: `probability`)."""
    if isinstance(estimator, Predictor):
        return estimator._without_distribution() is None
    return hasattr(estimator, "predict_dist")


def distribution_of(
    estimator: Any, X: Any, classes: np.ndarray | None, scale: Any = 1.0
) -> Any:
    """p(y | x) of a fitted predictor.

    Args:
        estimator: the predictor.
        X: (n, d) inputs.
        classes: all labels, sorted; None where y is a number.
        scale: the standard deviation of a point regressor (of each output, if several).
    """
    if classes is not None:
        return frequency_distribution(
            class_probabilities(estimator, X, classes), classes
        )
    if not is_point_regressor(estimator):
        last, inputs = split_last(estimator, X)
        return last.predict_dist(inputs)
    mean = np.asarray(estimator.predict(X), np.float64)
    columns = mean.reshape(len(mean), -1).T
    parts = [
        Predictive(Normal(), np.c_[column, np.full(len(column), np.log(s))])
        for column, s in zip(columns, np.broadcast_to(scale, len(columns)), strict=True)
    ]
    return parts[0] if mean.ndim == 1 else joint_distribution(parts)


def held_out_nll(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    w: np.ndarray,
    *,
    classes: np.ndarray | None,
    scale: Any = 1.0,
) -> float:
    """The mean of −log p(y | x) on rows that the predictor was not fitted to.

    It is what `nll` of the predictor is, where it has one and knows all classes.

    Args:
        estimator: the predictor, fitted.
        X: (n, d) inputs.
        y: (n,) targets.
        w: (n,) weights.
        classes: all labels, sorted; None where y is a number.
        scale: the standard deviation of a point regressor.
    """
    last, inputs = split_last(estimator, X)
    known = classes is None or np.array_equal(getattr(last, "classes_", []), classes)
    if known and hasattr(last, "nll") and not is_point_regressor(last):
        return last.nll(inputs, y, sample_weight=w)
    log_prob = distribution_of(estimator, X, classes, scale).log_prob(y)
    return float(-np.average(log_prob, weights=w))


def error_scale(
    held_out: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> Any:
    """The root mean squared held-out error; of each output, if there are several.

    Args:
        held_out: targets, predictions and weights of the rows of each fold.
    """
    total, weight = np.zeros(()), 0.0
    for y, predicted, w in held_out:
        error = np.asarray(predicted, np.float64) - y
        total = total + w @ error**2
        weight += float(w.sum())
    return np.sqrt(np.maximum(total / weight, MIN_VARIANCE))


# Parts ---------------------------------------------------------------------------------


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline; any other estimator as it is."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def split_last(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a fitted pipeline, and the inputs that it gets."""
    while isinstance(estimator, Pipeline):
        if len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    return estimator, X


def weight_arguments(estimator: Any, w: np.ndarray) -> dict[str, np.ndarray]:
    """The arguments of `fit` by which an estimator, or the steps of a pipeline, get w."""
    if not isinstance(estimator, Pipeline):
        takes = has_fit_parameter(estimator, "sample_weight")
        return {"sample_weight": w} if takes else {}
    return {
        f"{name}__{argument}": value
        for name, step in estimator.steps
        if hasattr(step, "fit")
        for argument, value in weight_arguments(step, w).items()
    }


def class_probabilities(estimator: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """(n, c) in the order of `classes`; a class that it never saw has probability 0."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(last_step(estimator)).__name__} has no predict_proba; use a "
            "classifier that gives probabilities (for SVC and LinearSVC: "
            "probability=True)."
        )
    found = estimator.predict_proba(X)
    probs = np.zeros((len(found), len(classes)))
    probs[:, np.searchsorted(classes, estimator.classes_)] = found
    return probs
