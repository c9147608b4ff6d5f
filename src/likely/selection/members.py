r"""What any predictor says as a distribution: ours, scikit-learn's, a pipeline.

A predictor with `predict_dist` is asked for it, a classifier for its `predict_proba`; a
regressor that gives numbers only is taken as the mean of a normal distribution whose
scale was learned from held-out errors.
"""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from likely.core.checks import InputError
from likely.families import Categorical, Normal, Predictive

LEAST = 1e-300


def fitted(estimator: Any, X: Any, y: np.ndarray, w: np.ndarray | None) -> Any:
    """A fitted copy; weights need an estimator that takes them."""
    copy: Any = clone(estimator)
    if w is None:
        return copy.fit(X, y)
    if not has_fit_parameter(copy, "sample_weight"):
        raise InputError(
            f"{type(estimator).__name__} takes no sample_weight; leave it out, or repeat "
            "rows."
        )
    return copy.fit(X, y, sample_weight=w)


def is_point(estimator: Any) -> bool:
    """Whether a regressor gives numbers only."""
    return not (is_classifier(estimator) or _distributes(estimator))


def said(estimator: Any, X: Any, classes: np.ndarray | None, scale: float) -> Any:
    """p(y | x) of a fitted predictor; `scale` is that of a regressor without one."""
    if classes is not None:
        return Predictive(
            Categorical(len(classes)), _log_probs(estimator, X, classes), classes
        )
    if _distributes(estimator):
        return estimator.predict_dist(X)
    mean = np.asarray(estimator.predict(X), np.float64)
    return Predictive(Normal(), np.c_[mean, np.full(len(mean), np.log(scale))])


def _distributes(estimator: Any) -> bool:
    """Whether it has predict_dist, and (for machines) was told to calibrate it."""
    return hasattr(estimator, "predict_dist") and getattr(
        estimator, "probability", True
    )


def _log_probs(estimator: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """(n, c) in the order of `classes`; a class that it never saw is impossible."""
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"{type(estimator).__name__} has no predict_proba; fit it so that it gives "
            "probabilities (for machines: probability=True)."
        )
    probs = np.zeros((len(X), len(classes)))
    probs[:, np.searchsorted(classes, estimator.classes_)] = estimator.predict_proba(X)
    return np.log(np.maximum(probs, LEAST))
