"""Whether a learner underfits or overfits, measured on the folds of a table."""

from typing import Any

import numpy as np

from likely.diagnostics.generalization.learning.diagnosis import FitDiagnosis
from likely.diagnostics.generalization.learning.folds import FoldedTable
from likely.diagnostics.generalization.learning.measures import SizeLosses, Units
from likely.diagnostics.generalization.refits.loop import Options
from likely.estimators import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NullClassifier,
    NullRegressor,
)


def diagnose_fit(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    loss: str = "auto",
    reference: Any = "auto",
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    executor: Any = None,
) -> FitDiagnosis:
    """Whether a learner underfits or overfits, by losses on training and held-out rows.

    Args:
        estimator: any predictor of `likely` or scikit-learn, or a pipeline; it is not changed.
        X: (n, d) inputs: an array or a frame.
        y: (n,) targets.
        cv: the number of folds, a scikit-learn splitter, or an iterable of splits.
        loss: as in `learning_curve`.
        reference: a more flexible estimator, which shows underfitting; "auto" is gradient
            boosting, None none.
        sample_weight: how often each row counts.
        groups: what each row belongs to.
        random_state: the seed of learners.
        executor: a `concurrent.futures.Executor` in which fits run that are no program.
    """
    table = FoldedTable.of(
        estimator, X, y, cv=cv, loss=loss, sample_weight=sample_weight, groups=groups,
        random_state=random_state, options=Options(executor),
    )  # fmt: skip
    orders = [[rows] for rows in table.training_rows()]
    found = table.losses(estimator, orders, len(table.y))
    units = Units.of(table.w, table.groups, np.random.default_rng(table.seed))
    return diagnosis_of(table, found, units, orders, reference)


def diagnosis_of(
    table: FoldedTable, found: SizeLosses, units: Units, orders: list, reference: Any
) -> FitDiagnosis:
    """What the losses of fits to all training rows say.

    Args:
        table: rows and folds.
        found: losses of the learner.
        units: resamples of rows.
        orders: for each fold, its training rows in some orders.
        reference: a more flexible estimator, "auto" or None.
    """
    whole = [[fold[0]] for fold in orders]
    size = int((~np.isnan(found.train[0, 0])).sum())
    numbers = table.classes is None
    new, own = found.by_row("held_out"), found.by_row("train")
    constant = NullRegressor() if numbers else NullClassifier()
    null = table.losses(constant, whole, size).by_row("held_out")
    better = behind = None
    if isinstance(reference, str) and reference == "auto":
        boosted = GradientBoostingRegressor, GradientBoostingClassifier
        reference = boosted[not numbers]()
    if reference is not None:
        other = table.losses(reference, whole, size).by_row("held_out")
        better, behind = units.score(other), units.score(own - other)
    return FitDiagnosis(
        loss=table.loss,
        rows=size,
        train=units.score(own),
        held_out=units.score(new),
        gap=units.score(new - own),
        null=units.score(null),
        gain=units.score(null - new),
        train_gain=units.score(null - own),
        reference=better,
        behind=behind,
        reference_name="" if reference is None else type(reference).__name__,
    )
