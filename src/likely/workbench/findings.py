"""Findings: warnings and notes about the data and the models, with advice."""

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


def _columns(table: Table) -> list[Finding]:
    found = []
    for column in table.schema:
        if column.used:
            continue
        what = (
            "is constant"
            if column.constant
            else "is an identifier (each row has a unique value)"
            if column.identifier
            else f"is {column.kind}: {column.reason}"
        )
        advice = "It was left out; set its kind with --kind if it should be used."
        found.append(
            Finding("column", "note", f"Column {column.name!r} {what}.", advice)
        )
    missing = {
        c.name: c.missing / len(table) for c in table.schema if c.used and c.missing
    }
    worst = sorted(missing, key=lambda name: -missing[name])[:3]
    if worst:
        most = ", ".join(f"{name!r} ({100 * missing[name]:.0f} %)" for name in worst)
        text = f"{len(missing)} columns have missing values, most of all {most}."
        advice = (
            "They were filled with the mean, and indicator columns mark them. Find out "
            "why they are missing: if that depends on the target, so do the predictions."
        )
        found.append(Finding("missing", "note", text, advice))
    return found


def _leakage(table: Table) -> list[Finding]:
    advice = (
        "Is it known before the target is? If not, leave it out with --drop: a model "
        "that uses such a column is worthless on new rows."
    )
    return [
        Finding(
            "leakage",
            "warning",
            f"Column {name!r} alone explains {100 * share:.1f} % of the target.",
            advice,
        )
        for name, share in leaks(table).items()
    ]


def _rows(table: Table) -> list[Finding]:
    found, target = [], table.target
    if target.missing:
        text = f"{target.missing} rows have no {target.name!r}."
        found.append(Finding("target", "note", text, "They were left out."))
    if target.single:
        some = ", ".join(map(repr, target.single[:5]))
        more = f" and {len(target.single) - 5} more" if len(target.single) > 5 else ""
        text = f"Classes of one row each: {some}{more}."
        advice = (
            "They were left out: a class needs rows to learn from and rows to test."
        )
        found.append(Finding("target", "note", text, advice))
    if len(table) < 100:
        text = f"There are {len(table)} rows."
        advice = (
            "Differences between models of less than two standard errors mean little."
        )
        found.append(Finding("rows", "note", text, advice))
    if target.is_class:
        shares = np.bincount(table.y.astype(int)) / len(table)
        if shares.min() < 0.05:
            rare = target.classes[int(shares.argmin())]
            text = f"Class {rare!r} has {100 * shares.min():.1f} % of the rows."
            advice = "Look at recall and precision, not at accuracy."
            found.append(Finding("imbalance", "note", text, advice))
    return found


def _linear(simple: SimpleModel) -> list[Finding]:
    found = []
    for name, sentence in simple.warnings:
        if "Separation" in name or "separates" in sentence:
            advice = (
                "A penalty (alpha) or Firth's correction gives finite coefficients; "
                "check whether the column contains the target."
            )
            found.append(Finding("separation", "warning", sentence, advice))
        elif "Collinear" in name:
            advice = "Drop one of the columns before reading the coefficients."
            found.append(Finding("collinearity", "warning", sentence, advice))
    return found


def _dispersion(table: Table, ladder: Ladder) -> list[Finding]:
    if table.target.kind != "count" or "linear" not in ladder.held_out:
        return []
    predictions = ladder.held_out["linear"]
    y, mean = table.y[predictions.rows], np.maximum(predictions.mean, 1e-9)
    ratio = float(np.mean((y - mean) ** 2 / mean))
    if ratio < 1.5:
        return []
    text = f"The counts vary {ratio:.1f} times as much as Poisson counts would."
    advice = "Use the negative binomial family; Poisson standard errors are too small."
    return [Finding("over-dispersion", "warning", text, advice)]


def _calibration(
    table: Table, predictions: HeldOutPredictions, calibrated: Calibrated
) -> list[Finding]:
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    if predictions.probs is not None:
        found = evaluate.reliability(y, predictions.probs, w)
        if found.expected_error < 2 * found.noise + 0.005:
            return []
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
        return []
    advice = "The saved model is recalibrated; do not use predictions without it."
    return [Finding("miscalibration", "note", text, advice)]


def _interval_change(s: float) -> str:
    """The sentence about the factor s by which all intervals were stretched."""
    if s > 1:
        return (
            f"Intervals of the best model had to be widened by {100 * (s - 1):.0f} %."
        )
    return f"Intervals of the best model could be narrowed by {100 * (1 - s):.0f} %."


def _coverage(
    ladder: Ladder, coverage: dict, predictions: HeldOutPredictions
) -> list[Finding]:
    asked, share = ladder.spec.coverage, coverage["coverage"]
    noise = np.sqrt(asked * (1 - asked) / len(predictions.rows))
    if abs(share - asked) < max(3 * noise, 0.01):
        return []
    text = f"Intervals of {100 * asked:.0f} % covered {100 * share:.1f} % of held-out rows."
    more = share > asked and ladder.table.target.kind == "count"
    advice = (
        "Whole numbers cannot be covered more exactly."
        if more
        else "Are the rows independent? Look for time, groups or duplicates."
    )
    return [Finding("coverage", "note" if more else "warning", text, advice)]


def _overfitting(ladder: Ladder, winner: dict) -> list[Finding]:
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
        return [Finding("overfitting", "note", text, advice)]
    if winner["name"] == "null":
        text = "No model is better than the null model: the columns do not predict the target."
        return [Finding("signal", "warning", text, "Try other columns, or more rows.")]
    return []
