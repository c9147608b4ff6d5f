r"""The losses of predictions by name: squared error, −log p, and whether a class is wrong.

"squared" is $(y - \hat y)^2$; "log" is $-\log p(y \mid x)$ in nats; "zero-one" is 1 where the
predicted class is wrong. "auto" is the log loss for classes (0/1 where there are no probabilities)
and the squared loss for numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import is_classifier

from likely.core.checks import InputError, check_choice
from likely.diagnostics.generalization.refits.answers import Want
from likely.selection.members import distribution_of, is_point_regressor

LOSSES = ("squared", "log", "zero-one")
Loss = str | Callable[[np.ndarray, np.ndarray], np.ndarray]


def loss_name(loss: Any, estimator: Any) -> str:
    """The name of the loss, checked against what the estimator predicts."""
    classes = bool(is_classifier(estimator))
    if isinstance(loss, str) and loss == "auto":
        if not classes:
            return "squared"
        return "log" if hasattr(estimator, "predict_proba") else "zero-one"
    check_choice("loss", loss, ("auto", *LOSSES))
    if classes and loss == "squared":
        raise InputError(
            'the squared loss is of numbers, and classes are predicted; give loss="log" or '
            '"zero-one".'
        )
    if not classes and loss == "zero-one":
        raise InputError(
            'the 0/1 loss is of classes, and numbers are predicted; give loss="squared".'
        )
    if loss == "log" and (
        not hasattr(estimator, "predict_proba")
        if classes
        else is_point_regressor(estimator)
    ):
        other = "zero-one" if classes else "squared"
        raise InputError(
            f"{type(estimator).__name__} predicts no probabilities, which the log loss is "
            f'about; give loss="{other}".'
        )
    return loss


def what_loss_needs(loss: str) -> Want:
    """What a fit has to say at a point for its loss to be known."""
    known: dict[str, Want]
    known = {"squared": "mean", "log": "losses", "zero-one": "classes"}
    return known[loss]


def losses_from(
    loss: str, found: np.ndarray, y: np.ndarray, classes: Any
) -> np.ndarray:
    """The loss at each point, from what fits said there.

    Args:
        loss: its name.
        found: (m, t) or (m, t, q) means, losses, or numbers of classes.
        y: (t,) or (m, t) targets.
        classes: the labels, sorted; None where y is a number.
    """
    if loss == "log":
        return found
    if loss == "zero-one":
        wrong = found != np.searchsorted(classes, y)
        return np.where(np.isnan(found), np.nan, wrong)
    squared = (found - y) ** 2
    return squared.sum(-1) if squared.ndim > 2 else squared


def row_losses(
    predictor: Any, X: Any, y: Any, loss: Loss, classes: np.ndarray | None
) -> Float[np.ndarray, " n"]:
    """The loss of a fitted predictor on each row.

    Args:
        predictor: what was fitted.
        X: (n, d) inputs.
        y: (n,) targets.
        loss: a name, or a function of y and the predictions.
        classes: all labels, sorted; None where y is a number.
    """
    y = np.asarray(y)
    if callable(loss):
        found = np.asarray(loss(y, predictor.predict(X)), np.float64)
        if found.shape != y.shape[:1]:
            raise InputError(
                f"the loss returned shape {found.shape} for {len(y)} rows; return one "
                "number for each row."
            )
        return found
    if loss == "log":
        return -distribution_of(predictor, X, classes).log_prob(y)
    predicted = np.asarray(predictor.predict(X))
    if loss == "zero-one":
        return (predicted != y).astype(float)
    squared = (predicted - y) ** 2
    return squared.sum(1) if squared.ndim > 1 else squared
