"""LK106: test rows from another distribution than the rows of the fit."""

import numpy as np

from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.drift import drift

MIN_AUC, MIN_EFFECT = 0.6, 0.15
"""The area under the ROC curve, and the gap of a column, from which on drift matters."""


def drifted(subject: Subject) -> Finding | None:
    """Whether the columns of the test rows have another distribution."""
    if subject.new is None:
        raise DoesNotApply("there are no test rows")
    subject.columns  # noqa: B018  (a table, or the check does not apply)
    found = drift(
        subject.known.X,
        subject.new.X,
        level=subject.level,
        random_state=subject.options.random_state,
    )
    effect = max((t.effect for t in found.drifted), default=0.0)
    told = np.isfinite(found.auc) and found.p_value < subject.level / 2
    if not (told and found.auc >= MIN_AUC) and effect < MIN_EFFECT:
        return None
    column = found.drifted[0].column if found.drifted else ""
    text = f"The test rows differ from the rows of the fit. {found.verdict}"
    advice = (
        "Find out why. If new rows will be like the test rows, fit to rows like them, or "
        "weight the rows by how likely a classifier takes them for new ones."
    )
    numbers = {"auc": found.auc, "auc error": found.auc_error, "effect": effect}
    kept = {k: None if np.isnan(v) else float(v) for k, v in numbers.items()}
    return Finding("drift", "warning", text, advice, column, numbers=kept)
