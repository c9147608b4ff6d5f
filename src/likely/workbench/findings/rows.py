"""Findings about rows: missing targets, rare classes, wrong labels, too few rows."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from likely.core.written_numbers import counted, number, percent
from likely.diagnostics.checks.finding import Finding
from likely.diagnostics.checks.noise import noise_finding
from likely.workbench.findings.measured import LEVEL, Measured
from likely.workbench.report.measured import (
    LearningCurve,
)
from likely.workbench.survival import suggested_event
from likely.workbench.table import Table


def row_findings(table: Table) -> Iterator[Finding]:
    """Missing targets, classes of one row, few rows, rare classes."""
    target = table.target
    if target.missing:
        have = "has" if target.missing == 1 else "have"
        text = f"{counted(target.missing, 'row')} {have} no {target.name!r}."
        left = "It was" if target.missing == 1 else "They were"
        yield Finding("target", "note", text, f"{left} left out.")
    if target.single:
        some = ", ".join(map(repr, target.single[:5]))
        more = f" and {len(target.single) - 5} more" if len(target.single) > 5 else ""
        one = len(target.single) == 1
        text = f"{'Class' if one else 'Classes'} of one row{'' if one else ' each'}: "
        text += f"{some}{more}."
        left = "It was" if one else "They were"
        advice = f"{left} left out: a class needs rows to learn from and rows to test."
        yield Finding("target", "note", text, advice)
    if len(table) < 100:
        text = f"There are only {counted(len(table), 'row')}."
        advice = (
            "Differences between models of less than two standard errors mean little."
        )
        yield Finding("rows", "note", text, advice, code="LK402")
    if target.is_class:
        shares = np.bincount(table.y.astype(int), table.w) / table.w.sum()
        if shares.min() < 0.05:
            rare = target.classes[int(shares.argmin())]
            text = f"Class {rare!r} has {percent(shares.min())} of the rows."
            advice = (
                "Look at precision and recall by class, and for two classes at the table "
                "of thresholds, rather than at accuracy."
            )
            yield Finding("imbalance", "note", text, advice)


def event_findings(table: Table) -> Iterator[Finding]:
    """A time to an event whose column of events was not named."""
    target = table.target
    sentence = suggested_event(target.name, target.kind, table.frame)
    if sentence:
        yield Finding("events", "warning", sentence, "", target.name)


def noise_findings(found: Measured) -> Iterator[Finding]:
    """Labels that contradict the best model where it is surest."""
    predictions = found.ladder.held_out[found.winner.name]
    if predictions.probs is None:
        return
    rows = predictions.rows
    y, w = found.ladder.table.y[rows], found.ladder.table.w[rows]
    finding = noise_finding(y.astype(int), predictions.probs, w, LEVEL)
    if finding is not None:
        advice = "Look at the rows that are hardest to predict, in the report."
        yield replace(finding, code="LK107", advice=advice)


def more_rows_findings(curve: LearningCurve | None) -> Iterator[Finding]:
    """A learning curve that still falls."""
    if curve is None or not curve.still_falling:
        return
    before, after = curve.nats[-2:]
    text = (
        f"More rows would still help: from {curve.rows[-2]:,} to {curve.rows[-1]:,} rows "
        f"the {curve.model} gains {number((before or 0) - (after or 0))} nats per row."
    )
    yield Finding("more rows", "note", text, "Collect more rows like these if you can.")
