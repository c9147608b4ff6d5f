r"""How a model treats groups of rows: rates, errors, calibration and coverage by group.

Every number is a mean over the rows of a group: the true positive rate, say, that of
"predicted positive" over the rows that are positive. Beside it stands the difference to all
other rows, with an interval; the intervals hold together, for all groups and numbers, with
the coverage that was asked for (Bonferroni). No fairness criterion is chosen here: rates of
positive predictions, true and false positive rates and calibration cannot all be equal where
the groups differ in how often they are positive.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from likely.base.rows import weights_of
from likely.core.checks import InputError
from likely.core.written_numbers import counted, listed, number, with_error
from likely.diagnostics.result import Result
from likely.diagnostics.rows.held_out import Predicted, predicted
from likely.diagnostics.rows.intervals import Gap, Part, gap_of, part_of

MAX_GROUPS = 50
MAX_NAMED = 3
"""Differences that a verdict names."""
DESCRIPTIVE = ("positive",)
"""Numbers that describe the rows of a group, not what the model does with them."""


@dataclass(frozen=True, repr=False, eq=False)
class Fairness(Result):
    """What a model does in each group of rows.

    Attributes:
        groups: the names of the groups.
        measures: the names of what is measured.
        parts: for each group the mean of each measure, its error and its weight.
        gaps: for each group the difference of each measure to all other rows.
        counts: the number of rows of each group.
        coverage: of all intervals together.
    """

    groups: tuple[Any, ...]
    measures: tuple[str, ...]
    parts: tuple[tuple[Part, ...], ...]
    gaps: tuple[tuple[Gap, ...], ...]
    counts: tuple[float, ...]
    coverage: float

    @property
    def shown(self) -> list[tuple[Any, str, Gap]]:
        """The differences that are shown, the largest in units of their error first."""
        every = [
            (group, name, gap)
            for group, gaps in zip(self.groups, self.gaps, strict=True)
            for name, gap in zip(self.measures, gaps, strict=True)
            if gap.shown and name not in DESCRIPTIVE
        ]
        return sorted(every, key=lambda f: -abs(f[2].value) / max(f[2].error, 1e-300))

    @property
    def verdict(self) -> str:
        """Which differences between groups are shown, if any."""
        found = self.shown
        among = (
            f"{counted(len(self.groups), 'group')} of {number(sum(self.counts))} rows"
        )
        if not found:
            return f"No difference shown between {among}."
        some = [
            f"{name} of {group!r} ({with_error(gap.value, gap.error, '+')})"
            for group, name, gap in found[:MAX_NAMED]
        ]
        more = len(found) - len(some)
        tail = f", and {more} more" if more else ""
        return (
            f"Among {among} these differ from the other rows by more than chance: "
            f"{listed(some)}{tail}."
        )

    def table(self) -> dict[str, Any]:
        """The means of each group, each with its standard error."""
        columns: dict[str, Any] = {
            "group": [str(group) for group in self.groups],
            "rows": list(self.counts),
        }
        for j, name in enumerate(self.measures):
            columns[name] = [part[j].value for part in self.parts]
            columns[f"± {name}"] = [part[j].error for part in self.parts]
        return columns

    def differences(self) -> dict[str, Any]:
        """The differences of each group to all other rows, as columns by name."""
        pairs = [
            (group, name, gap)
            for group, gaps in zip(self.groups, self.gaps, strict=True)
            for name, gap in zip(self.measures, gaps, strict=True)
        ]
        return {
            "group": [str(group) for group, _, _ in pairs],
            "measure": [name for _, name, _ in pairs],
            "difference": [gap.value for *_, gap in pairs],
            "± error": [gap.error for *_, gap in pairs],
            "low": [gap.low for *_, gap in pairs],
            "high": [gap.high for *_, gap in pairs],
            "shown": ["yes" if gap.shown else "no" for *_, gap in pairs],
        }

    def plot(self) -> Any:
        """The means of each group with their intervals, a panel for each measure."""
        from likely.plots import group_measures

        return group_measures(self)


def fairness(
    model: Any,
    X: Any,
    y: Any,
    groups: Any,
    *,
    sample_weight: Any = None,
    positive: Any = None,
    coverage: float = 0.9,
    confidence: float = 0.95,
) -> Fairness:
    """What a model does in each group of rows, which should not be rows of its fit.

    Two classes: how often rows are positive, and how often they are predicted so; true and
    false positive rates; errors, nats, calibration (frequency less predicted probability)
    and the coverage of sets. More classes: errors, nats, calibration of the most probable
    class, coverage. Numbers: the mean of y less the prediction (bias), the squared error, nats,
    and the coverage of intervals.

    Args:
        model: a fitted predictor of `likely` or scikit-learn.
        X: (n, d) inputs of rows that it was not fitted to.
        y: (n,) their targets.
        groups: (n,) the group of each row, of any type; or the name of a column of X.
        sample_weight: how often each row counts.
        positive: the label that counts as positive, for two classes; the last by default.
        coverage: of the predictive intervals or sets.
        confidence: the probability that all intervals of differences hold.
    """
    y = np.asarray(y)
    w = weights_of(sample_weight, len(y))
    members = _members(X, groups, len(y))
    names = [g for g in dict.fromkeys(members[w > 0].tolist())]
    names = sorted(names, key=str)
    if not 2 <= len(names) <= MAX_GROUPS:
        raise InputError(
            f"groups has {counted(len(names), 'group')}; give rows of 2 to {MAX_GROUPS}."
        )
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; give a number between 0 and 1.")
    here = np.flatnonzero(w > 0)
    y = np.where(w > 0, y, y[here[0]])
    classes = model.classes_ if is_classifier(model) else None
    found = predicted(model, X, y, w, classes=classes, coverage=coverage)
    measured = _measured(model, X, found, classes, positive)
    level = (1 - confidence) / (len(names) * len(measured) / (1 + (len(names) == 2)))
    parts, gaps, counts = [], [], []
    for name in names:
        own = np.array([member == name for member in members])
        pairs = [
            (part_of(values, mask * own), part_of(values, mask * ~own))
            for values, mask in measured.values()
        ]
        parts.append(tuple(a for a, _ in pairs))
        gaps.append(tuple(gap_of(a, b, level) for a, b in pairs))
        counts.append(float(w[own].sum()))
    return Fairness(
        tuple(names),
        tuple(measured),
        tuple(parts),
        tuple(gaps),
        tuple(counts),
        confidence,
    )


def _members(X: Any, groups: Any, n: int) -> np.ndarray:
    """The group of each row, as objects."""
    if isinstance(groups, str):
        if not hasattr(X, "columns") or groups not in list(X.columns):
            raise InputError(f"X has no column {groups!r}; give the group of each row.")
        groups = X[groups]
    found = np.asarray(groups)
    if found.shape != (n,):
        raise InputError(
            f"groups has shape {found.shape}; give one for each of {n} rows."
        )
    return found.astype(object)


def _measured(
    model: Any, X: Any, found: Predicted, classes: Any, positive: Any
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The value of each row and its weight, for each measure."""
    w = found.w
    if not found.is_class:
        gap = found.y - found.mean
        measured = {"bias": (gap, w), "squared error": (gap**2, w)}
    elif len(classes) == 2:
        measured = _two_classes(model, X, found, classes, positive)
    else:
        p = found.mean.max(1)
        measured = {"error": (found.wrong, w), "calibration": (1 - found.wrong - p, w)}
    if found.covered is not None or found.is_class:
        measured["nats"] = (np.minimum(found.loss, 1e6), w)
    if found.covered is not None:
        measured["coverage"] = (found.covered.astype(float), w)
    return measured


def _two_classes(
    model: Any, X: Any, found: Predicted, classes: Any, positive: Any
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The measures of a decision between two classes, as the model makes it."""
    labels = np.asarray(classes).tolist()
    positive = labels[-1] if positive is None else positive
    if positive not in labels:
        raise InputError(f"positive is {positive!r}; the labels are {labels}.")
    code, w = labels.index(positive), found.w
    happened = (found.y == code).astype(float)
    called = (np.asarray(model.predict(X)) == labels[code]).astype(float)
    return {
        "positive": (happened, w),
        "predicted positive": (called, w),
        "true positive rate": (called, w * happened),
        "false positive rate": (called, w * (1 - happened)),
        "error": ((called != happened).astype(float), w),
        "calibration": (happened - found.mean[:, code], w),
    }
