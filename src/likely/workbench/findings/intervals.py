"""Findings about probabilities and intervals: calibration and coverage."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest

from likely.core.written_numbers import percent
from likely.diagnostics.checks.coverage import MIN_PART_MISS, MIN_PART_ROWS
from likely.diagnostics.checks.finding import Finding
from likely.workbench.findings.measured import LEVEL, Measured


def calibration_findings(found: Measured) -> Iterator[Finding]:
    """Probabilities or intervals that recalibration changes."""
    shown, winner = found.calibration, found.winner
    if shown.expected_error is not None:
        if shown.expected_error < 2 * (shown.expected_noise or 0) + 0.005:
            return
        how = "over" if winner.temperature > 1 else "under"
        text = (
            f"The probabilities of the best model are off by {100 * shown.expected_error:.1f} "
            "percentage points on average"
        )
        sure = f", mostly {how}-confident" if abs(winner.temperature - 1) > 0.05 else ""
        text += f"{sure}."
        advice = (
            f"The saved model corrects its probabilities (temperature "
            f"{winner.temperature:.2f}); that leaves "
            f"{100 * (shown.expected_error_after or 0):.1f} points."
        )
    elif winner.stretch != 1:
        text = interval_change(winner.stretch)
        advice = "The saved model does that by itself."
    else:
        return
    yield Finding("miscalibration", "note", text, advice, code="LK301")


def interval_change(s: float) -> str:
    """The sentence about the factor s by which all intervals were stretched."""
    widened = f"had to be widened by {100 * (s - 1):.0f} %"
    narrowed = f"could be narrowed by {100 * (1 - s):.0f} %"
    return f"Intervals of the best model {widened if s > 1 else narrowed}."


def coverage_findings(found: Measured) -> Iterator[Finding]:
    """Intervals or sets that cover more or fewer rows than they should."""
    ladder, winner = found.ladder, found.winner
    asked, share = winner.coverage_asked, winner.coverage
    rows = ladder.held_out[winner.name].rows
    noise = winner.coverage_error or np.sqrt(asked * (1 - asked) / len(rows))
    if share is None or abs(share - asked) < max(3 * noise, 0.01):
        return
    target = ladder.table.target
    what = "Sets" if target.is_class else "Intervals"
    text = (
        f"{what} of {percent(asked, 0)} covered {percent(share)} of the held-out rows."
    )
    if share < asked:
        advice = (
            "Are the rows independent? Rows that belong together (--groups) or follow "
            "each other (--time) make other rows look easier than new ones are."
        )
        yield Finding("coverage", "warning", text, advice, code="LK302")
        return
    if target.is_class:
        advice = "A set holds whole classes, so it may cover more than was asked."
    elif target.kind == "real" or target.kind == "positive":
        advice = "They are wider than these rows need: that is on the safe side."
    else:
        advice = (
            "Values that occur often cannot be covered by a part, so more are covered."
        )
    yield Finding("coverage", "note", text, advice, code="LK302")


def group_coverage_findings(found: Measured) -> Iterator[Finding]:
    """The group whose rows are covered least, where that is no chance."""
    groups, winner = found.groups, found.winner
    if groups is None or winner.coverage is None:
        return
    asked = min(winner.coverage_asked, winner.coverage)
    rows = [
        g for g in groups.groups if g.rows >= MIN_PART_ROWS and g.coverage is not None
    ]
    tests = [
        binomtest(round((g.coverage or 0.0) * g.rows), g.rows, asked).pvalue
        for g in rows
    ]
    missed = [
        g
        for g, p in zip(rows, tests, strict=True)
        if p * len(rows) < LEVEL and (g.coverage or 0.0) < asked - MIN_PART_MISS
    ]
    if not missed:
        return
    worst = min(missed, key=lambda g: g.coverage or 0.0)
    what = "Sets" if found.ladder.table.target.is_class else "Intervals"
    text = (
        f"{what} of {percent(winner.coverage_asked, 0)} covered {percent(worst.coverage)} of "
        f"the {worst.rows:,} held-out rows where {groups.column!r} is {worst.label!r}."
    )
    advice = "Do not rely on them there; more rows of that kind would help."
    yield Finding(
        "coverage in groups", "warning", text, advice, groups.column, code="LK303"
    )
