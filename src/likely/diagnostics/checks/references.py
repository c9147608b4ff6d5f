"""Simple models to compare with: linear ones on the columns of a table."""

from typing import Any

from sklearn.pipeline import make_pipeline

from likely.diagnostics.checks.finding import DoesNotApply
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.held_out import Predicted

MAX_CHOSEN_COEFFICIENTS = 150
"""Coefficients of a model of classes up to which the rows choose its penalty."""


def linear_reference(subject: Subject) -> Predicted:
    """Held-out predictions of a linear model; the rows choose its penalty, if it is small."""
    if subject.linear is not None:
        raise DoesNotApply("it is a linear model itself")
    subject.columns  # noqa: B018  (a table, or there is no such model)
    classes = 0 if subject.classes is None else len(subject.classes)
    large = classes * len(subject.columns) > MAX_CHOSEN_COEFFICIENTS
    return subject.alternative(_linear(classes > 0, large), "linear model")


def _linear(is_class: bool, large: bool) -> Any:
    from likely.estimators import LogisticRegression, Ridge
    from likely.preprocess import TableEncoder

    strength = 1.0 if large else "auto"
    model = LogisticRegression(alpha=strength) if is_class else Ridge(alpha="cv")
    return make_pipeline(TableEncoder(), model)
