"""Scores of all classes from any classifier: log-probabilities, or its decision function."""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.base.labels import MIN_PROBABILITY
from likely.core.checks import InputError
from likely.selection.members import last_step

UNSEEN = float(np.log(MIN_PROBABILITY))
"""The score of a class that a model never saw."""


def class_log_scores(
    model: Any, X: Any, classes: np.ndarray
) -> Float[np.ndarray, "n c"]:
    """The scores of a fitted classifier, in the order of `classes`.

    Args:
        model: the classifier.
        X: (n, d) inputs.
        classes: all labels, sorted; it may not have seen some.
    """
    if hasattr(model, "predict_proba"):
        probs = np.asarray(model.predict_proba(X), np.float64)
        found = np.log(np.maximum(probs, MIN_PROBABILITY))
    elif hasattr(model, "decision_function"):
        found = np.asarray(model.decision_function(X), np.float64)
        if found.ndim == 1:
            found = np.stack([np.zeros(len(found)), found], axis=1)
    else:
        raise InputError(
            f"{type(last_step(model)).__name__} has neither predict_proba nor "
            "decision_function, so there is nothing to recalibrate."
        )
    own = np.asarray(model.classes_)
    if found.shape[1] != len(own):
        raise InputError(
            f"the decision function has {found.shape[1]} columns for {len(own)} classes; "
            'use decision_function_shape="ovr", or a classifier with predict_proba.'
        )
    unknown = ~np.isin(own, classes)
    if unknown.any():
        raise InputError(
            f"the estimator knows the class {own[unknown][0]!r}, which y does not have; "
            "give rows of all of its classes."
        )
    scores = np.full((len(found), len(classes)), UNSEEN)
    scores[:, np.searchsorted(classes, own)] = found
    return scores
