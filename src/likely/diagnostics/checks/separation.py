"""LK201: classes that a plane separates, so that the likelihood has no maximum."""

import numpy as np

from likely.core.written_numbers import listed
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.estimators.linear.logistic import LogisticRegression
from likely.estimators.linear.separation import separation

WEAK_PENALTY = 1e-3
"""A penalty in nats, of columns in units of their spread, that does not hold them back."""
MAX_NAMED = 5


def separated(subject: Subject) -> Finding | None:
    """Whether a linear model of classes with no penalty, or a weak one, has no maximum."""
    if subject.classes is None:
        raise DoesNotApply("y is no class")
    last, fit = subject.last, subject.linear
    sentence = getattr(last, "separation_", None)
    if isinstance(last, LogisticRegression) and sentence:
        return _finding(f"{sentence[0].upper()}{sentence[1:]}")
    if fit is None:
        raise DoesNotApply("it is no linear model of classes")
    X = fit.A[:, fit.first :]
    spread = X.std(0)
    if (
        fit.penalty[fit.first :] > WEAK_PENALTY * np.maximum(spread, 1e-300) ** 2
    ).any():
        raise DoesNotApply("it has a penalty")
    found = separation(
        X / np.where(spread > 0, spread, 1.0), fit.y, len(subject.classes),
        intercept=bool(fit.first),
    )  # fmt: skip
    if found is None:
        return None
    names = [repr(fit.names[fit.first + j]) for j in found.columns[:MAX_NAMED]]
    by = f" by {listed(names)}" if names else ""
    how = "" if found.complete else " up to rows that lie on it"
    return _finding(
        f"A plane separates the classes{how}{by}, so the likelihood has no maximum: "
        "coefficients are as large as the solver happened to make them."
    )


def _finding(text: str) -> Finding:
    advice = (
        'Give it a penalty (alpha="auto"), or Firth\'s correction (firth=True). Check '
        "whether such a column contains the target."
    )
    return Finding("separation", "warning", text, advice)
