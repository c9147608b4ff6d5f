"""LK302 and LK303: intervals and sets that cover too few rows, overall or in a part.

Shares of covered rows have a binomial test. That of rows with low, middle or high predictions
is also taken for more than chance where errors, in units of their predicted spread, rise or
fall with the prediction (Spearman's rank correlation); the p-values of parts are corrected
together by Holm's method.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from likely.core.written_numbers import number, percent
from likely.diagnostics.checks.finding import DoesNotApply, Finding
from likely.diagnostics.checks.subject import Subject
from likely.diagnostics.rows.column_tests import holm
from likely.diagnostics.rows.columns import ColumnValues
from likely.diagnostics.rows.held_out import Predicted

MIN_MISS, MIN_EXCESS = 0.03, 0.06
"""The least miss of the coverage that is worth a word, below and above what was asked."""
MIN_PART_MISS = 0.06
"""The same in a part of the rows."""
MIN_PART_ROWS = 30
MAX_LEVELS = 8
"""Columns with more different values make no parts."""
N_BINS = 3
PREDICTIONS = "predictions"


class Miss(NamedTuple):
    """How far coverage is from what was asked for."""

    share: float
    error: float
    p_value: float
    """Of a coverage as asked for, two-sided."""
    rows: float


def coverage_miss(covered: np.ndarray, w: np.ndarray, asked: float) -> Miss:
    """The share of rows that are covered, with a binomial test.

    Args:
        covered: whether each row is.
        w: how often each row counts.
        asked: the coverage that was asked for.
    """
    total = float(w.sum())
    share = float(w @ covered) / total
    k, n = round(share * total), max(round(total), 1)
    p = float(stats.binomtest(int(k), int(n), asked).pvalue)
    error = float(np.sqrt(max(share * (1 - share), 0.5 / total) / total))
    return Miss(share, error, p, total)


def wrong_coverage(subject: Subject) -> Finding | None:
    """Whether intervals, or sets of classes, cover what they should."""
    rows, asked = subject.held_out, subject.options.coverage
    if rows.covered is None:
        raise DoesNotApply("it has no intervals")
    found = coverage_miss(rows.covered, rows.w, asked)
    gap = found.share - asked
    exact = subject.classes is None and rows.pit is not None
    far = gap < -MIN_MISS or (exact and gap > MIN_EXCESS)
    if not far or found.p_value >= subject.level:
        return None
    what = "Intervals" if subject.classes is None else "Sets"
    text = (
        f"{what} of {percent(asked, 0)} cover {percent(found.share)} ± "
        f"{percent(found.error)} of {number(found.rows)} rows that the model did not see."
    )
    numbers = {"coverage": found.share, "error": found.error, "p": found.p_value}
    if gap > 0:
        advice = (
            "They are wider than they need to be: recalibrate, or use conformal ones."
        )
        return Finding("coverage", "note", text, advice, numbers=numbers)
    advice = (
        "Use conformal intervals, which cover whatever the model; and ask whether rows are "
        "independent (groups=, time=)."
    )
    return Finding("coverage", "warning", text, advice, numbers=numbers)


def wrong_coverage_in_parts(subject: Subject) -> Finding | None:
    """Whether they cover too few rows of a group, a category, or a range of predictions."""
    rows, asked = subject.held_out, subject.options.coverage
    if rows.covered is None:
        raise DoesNotApply("it has no intervals")
    overall = float(np.average(rows.covered, weights=rows.w))
    told = []
    for name, mask in _parts(subject):
        here = rows.w * mask
        if here.sum() < MIN_PART_ROWS:
            continue
        found = coverage_miss(rows.covered[mask], rows.w[mask], min(asked, overall))
        told.append((name, found))
    if not told:
        raise DoesNotApply(f"no part of the rows has {MIN_PART_ROWS} of them")
    trend = _trend(rows)
    adjusted = holm(
        [
            min(2 * min(found.p_value, trend), 1.0)
            if name.endswith(PREDICTIONS)
            else found.p_value
            for name, found in told
        ]
    )
    missed = [
        (name, found)
        for (name, found), p in zip(told, adjusted, strict=True)
        if p < subject.level and found.share < min(asked, overall) - MIN_PART_MISS
    ]
    if not missed:
        return None
    name, worst = min(missed, key=lambda m: m[1].share)
    what = "Intervals" if subject.classes is None else "Sets"
    text = (
        f"{what} of {percent(asked, 0)} cover {percent(worst.share)} ± "
        f"{percent(worst.error)} of {number(worst.rows)} rows {name} ({percent(overall)} of "
        "all rows)."
    )
    advice = (
        "Let the spread depend on the inputs, or make conformal intervals by group "
        "(Mondrian)."
    )
    numbers = {"coverage": worst.share, "error": worst.error, "p": worst.p_value}
    return Finding("coverage in parts", "warning", text, advice, numbers=numbers)


def _trend(rows: Predicted) -> float:
    """The p-value of errors, in units of their spread, that do not grow with the mean."""
    if rows.std is None or rows.is_class:
        return 1.0
    here = (rows.w > 0) & np.isfinite(rows.std) & (rows.std > 0)
    size = np.abs(rows.y - rows.mean)[here] / rows.std[here]
    if len(np.unique(rows.mean[here])) < MIN_PART_ROWS:
        return 1.0
    found: Any = stats.spearmanr(rows.mean[here], size)
    return float(found.pvalue)


def _parts(subject: Subject) -> list[tuple[str, np.ndarray]]:
    """Parts of the rows that are judged, each with its name."""
    rows, source = subject.held_out, subject.new or subject.known
    parts = []
    if source.groups is not None:
        groups = source.groups.astype(object)
        for name in dict.fromkeys(groups.tolist()):
            parts.append((f"of group {name!r}", np.array([g == name for g in groups])))
    if not rows.is_class:
        cuts = np.quantile(rows.mean, np.arange(1, N_BINS) / N_BINS)
        bin_ = np.searchsorted(cuts, rows.mean)
        for j, words in enumerate(("low", "middle", "high")):
            parts.append((f"with {words} {PREDICTIONS}", bin_ == j))
    try:
        columns = subject.columns if subject.new is None else subject.new_columns
    except DoesNotApply:
        columns = []
    for column in columns:
        parts += _levels(column)
    return parts


def _levels(column: ColumnValues) -> list[tuple[str, np.ndarray]]:
    codes = column.codes
    values = np.unique(codes[codes >= 0])
    if not 2 <= len(values) <= MAX_LEVELS:
        return []
    found = []
    for code in values:
        mask = codes == code
        value = column.values[mask][0]
        word = (
            number(value) if column.levels is None else repr(column.levels[int(value)])
        )
        found.append((f"where {column.name!r} is {word}", mask))
    return found
