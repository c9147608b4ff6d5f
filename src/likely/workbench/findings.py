"""Findings: warnings and notes about the data and the models, with advice."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from likely import evaluate
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.ladder import Ladder
from likely.workbench.scoring import Calibrated
from likely.workbench.simple import SimpleModel
from likely.workbench.table import Table, leaks


class Finding(NamedTuple):
    """A sentence about what was found, and one about what to do."""

    kind: str
    level: str
    """"note" or "warning"."""
    text: str
    advice: str


def all_findings(
    ladder: Ladder,
    simple: SimpleModel,
    winner: dict,
    calibrated: Calibrated,
    coverage: dict,
) -> list[Finding]:
    """All findings of a run, warnings first."""
    table, predictions = ladder.table, ladder.held_out[winner["name"]]
    found = [
        *_columns(table),
        *_leakage(table),
        *_rows(table),
        *_linear(simple),
        *_dispersion(table, ladder),
        *_calibration(table, predictions, calibrated),
        *_coverage(ladder, coverage, predictions),
        *_overfitting(ladder, winner),
    ]
    return sorted(found, key=lambda finding: finding.level != "warning")


def _columns(table: Table) -> Iterator[Finding]:
    for column in table.schema:
        if column.used:
            continue
        what = f"is {column.kind}: {column.reason}"
        if column.identifier:
            what = "is an identifier (each row has a unique value)"
        if column.constant:
            what = "is constant"
        advice = "It was left out; set its kind with --kind if it should be used."
        yield Finding("column", "note", f"Column {column.name!r} {what}.", advice)
    gaps = [(c.missing / len(table), c.name) for c in table.schema if c.used]
    gaps = sorted((gap for gap in gaps if gap[0]), key=lambda gap: -gap[0])
    if gaps:
        most = ", ".join(f"{name!r} ({100 * share:.0f} %)" for share, name in gaps[:3])
        text = f"{len(gaps)} columns have missing values, most of all {most}."
        advice = (
            "They were filled with the mean, and indicator columns mark them. Find out "
            "why they are missing: if that depends on the target, so do the predictions."
        )
        yield Finding("missing", "note", text, advice)


def _leakage(table: Table) -> Iterator[Finding]:
    advice = (
        "Is it known before the target is? If not, leave it out with --drop: a model "
        "that uses such a column is worthless on new rows."
    )
    for name, share in leaks(table).items():
        text = f"Column {name!r} alone explains {100 * share:.1f} % of the target."
        yield Finding("leakage", "warning", text, advice)


def _rows(table: Table) -> Iterator[Finding]:
    target = table.target
    if target.missing:
        text = f"{target.missing} rows have no {target.name!r}."
        yield Finding("target", "note", text, "They were left out.")
    if target.single:
        some = ", ".join(map(repr, target.single[:5]))
        more = f" and {len(target.single) - 5} more" if len(target.single) > 5 else ""
        text = f"Classes of one row each: {some}{more}."
        advice = (
            "They were left out: a class needs rows to learn from and rows to test."
        )
        yield Finding("target", "note", text, advice)
    if len(table) < 100:
        text = f"There are {len(table)} rows."
        advice = (
            "Differences between models of less than two standard errors mean little."
        )
        yield Finding("rows", "note", text, advice)
    if target.is_class:
        shares = np.bincount(table.y.astype(int)) / len(table)
        if shares.min() < 0.05:
            rare = target.classes[int(shares.argmin())]
            text = f"Class {rare!r} has {100 * shares.min():.1f} % of the rows."
            advice = "Look at recall and precision, not at accuracy."
            yield Finding("imbalance", "note", text, advice)


def _linear(simple: SimpleModel) -> Iterator[Finding]:
    for name, sentence in simple.warnings:
        if "Separation" in name or "separates" in sentence:
            advice = (
                "The linear models that are compared have a penalty, so that theirs are "
                "finite. A penalty (alpha) or Firth's correction does that here too; "
                "check whether the column contains the target."
            )
            yield Finding("separation", "warning", sentence, advice)
        elif "Collinear" in name:
            advice = "Drop one of the columns before reading the coefficients."
            yield Finding("collinearity", "warning", sentence, advice)


def _dispersion(table: Table, ladder: Ladder) -> Iterator[Finding]:
    if table.target.kind != "count" or "linear" not in ladder.held_out:
        return
    predictions = ladder.held_out["linear"]
    y, mean = table.y[predictions.rows], np.maximum(predictions.mean, 1e-9)
    ratio = float(np.mean((y - mean) ** 2 / mean))
    if ratio < 1.5:
        return
    text = f"The counts vary {ratio:.1f} times as much as Poisson counts would."
    advice = "Use the negative binomial family; Poisson standard errors are too small."
    yield Finding("over-dispersion", "warning", text, advice)


def _calibration(
    table: Table, predictions: HeldOutPredictions, calibrated: Calibrated
) -> Iterator[Finding]:
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is not None:
        found = evaluate.reliability(y, predictions.probs, w)
        if found.expected_error < 2 * found.noise + 0.005:
            return
        T = calibrated.temperature
        text = (
            "The probabilities of the best model are off by "
            f"{100 * found.expected_error:.1f} points on average; the best temperature is "
            f"{T:.2f} "
            f"({'over' if T > 1 else 'under'}-confident)."
        )
    elif calibrated.stretch != 1:
        text = _interval_change(calibrated.stretch)
    else:
        return
    advice = "The saved model is recalibrated; do not use predictions without it."
    yield Finding("miscalibration", "note", text, advice)


def _interval_change(s: float) -> str:
    """The sentence about the factor s by which all intervals were stretched."""
    widened = f"had to be widened by {100 * (s - 1):.0f} %"
    narrowed = f"could be narrowed by {100 * (1 - s):.0f} %"
    return f"Intervals of the best model {widened if s > 1 else narrowed}."


def _coverage(
    ladder: Ladder, coverage: dict, predictions: HeldOutPredictions
) -> Iterator[Finding]:
    asked, share = ladder.spec.coverage, coverage["coverage"]
    noise = np.sqrt(asked * (1 - asked) / len(predictions.rows))
    if abs(share - asked) < max(3 * noise, 0.01):
        return
    text = f"Intervals of {100 * asked:.0f} % covered {100 * share:.1f} % of held-out rows."
    more = share > asked and ladder.table.target.kind == "count"
    advice = (
        "Whole numbers cannot be covered more exactly."
        if more
        else "Are the rows independent? Look for time, groups or duplicates."
    )
    yield Finding("coverage", "note" if more else "warning", text, advice)


def _overfitting(ladder: Ladder, winner: dict) -> Iterator[Finding]:
    null = ladder.held_out["null"]
    worse: list[Any] = []
    for name, predictions in ladder.held_out.items():
        w = ladder.table.w[predictions.rows]
        gap = evaluate.paired_difference(predictions.loss, null.loss, w)
        if name in ladder.candidates and gap.value > 2 * gap.error > 0:
            worse.append(ladder.candidates[name].label)
    if worse:
        text = f"Worse than the null model on held-out rows: {', '.join(worse)}."
        advice = "They overfit: there is too little signal, or there are too few rows."
        yield Finding("overfitting", "note", text, advice)
    elif winner["name"] == "null":
        text = "No model is better than the null model: the columns do not predict the target."
        yield Finding("signal", "warning", text, "Try other columns, or more rows.")
