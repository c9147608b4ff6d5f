"""The sections about the quality of predictions: calibration, classes and decisions."""

from typing import Any

import numpy as np

from likely.core.written_numbers import number, percent
from likely.workbench.report.charts import Axes
from likely.workbench.report.contents import Report
from likely.workbench.report.markup import escape, figure, grid, paragraph, table
from likely.workbench.report.verdict import coverage, mean_size, score


def calibration(report: Report) -> str:
    """Calibration of the probabilities, and coverage of the intervals or sets."""
    winner, found = report.winner, report.calibration
    what, unit = ("sets", " classes") if report.is_class else ("intervals", " wide")
    text = (
        f"Conformal {what} of {percent(winner.coverage_asked, 0)} covered "
        f"{coverage(report)} of held-out rows, which they were not computed from, and are "
        f"{mean_size(winner.size, unit)}."
    )
    if any(c.used and c.kind in ("category", "code") for c in report.data.columns):
        text += (
            " New levels of a category are predicted as an average over the known ones, "
            "with the spread between them in the interval."
            if not report.is_class
            else " New levels of a category are predicted as an average over known ones."
        )
    if found.times:
        text += (
            " Times that were not seen to end count by Kaplan–Meier: the coverage is that of "
            "all rows if they were censored independently of how long they would have "
            "lasted."
        )
    pictures = []
    if found.pit:
        pictures.append(_pit(report))
    if found.true:
        pictures.append(_scatter(report))
    if found.times:
        pictures.append(_survival(report))
    if found.confidence:
        pictures.append(_reliability(report))
    if report.decisions:
        pictures += _curves(report)
    return paragraph(text) + grid(pictures)


def _pit(report: Report) -> str:
    share = [value or 0.0 for value in report.calibration.pit]
    b = len(share)
    axes = Axes((0, 1), (0, 1.1 * max(share)), labels=("F(y)", "share of rows"))
    axes.bars(np.arange(b) / b, 1 / b, share)
    axes.line([0, 1], [1 / b, 1 / b], "ideal")
    caption = (
        "Where the truth fell in its predicted distribution: flat is right, full ends are "
        "intervals that are too narrow (before recalibration)."
    )
    if report.target.kind in ("count", "nonnegative"):
        caption += (
            " Values that many rows have show as a peak, however good the model is."
        )
    return figure(axes.svg("Histogram of the probability integral transform"), caption)


def _scatter(report: Report) -> str:
    points = zip(report.calibration.predicted, report.calibration.true, strict=True)
    found = np.array([p for p in points if None not in p], float).reshape(-1, 2)
    low, high = np.quantile(found, [0.002, 0.998]) if len(found) else (0.0, 1.0)
    inside = ((found >= low) & (found <= high)).all(1)
    name = report.target.name
    axes = Axes((low, high), (low, high), labels=(f"predicted {name}", f"true {name}"))
    axes.line([low, high], [low, high], "ideal")
    x, y = found[inside].T
    axes.dots(x, y, "faint", 2.5)
    return figure(
        axes.svg("True against predicted values"), "Held-out rows: true by predicted."
    )


def _survival(report: Report) -> str:
    found = report.calibration
    times = np.repeat(np.array([0.0, *(t or 0.0 for t in found.times)]), 2)[1:]

    def steps(shares: Any) -> np.ndarray:
        return np.repeat(np.array([1.0, *(s or 0.0 for s in shares)]), 2)[:-1]

    labels = report.target.name, "share without the event"
    axes = Axes((0, times[-1]), (0, 1), labels=labels)
    axes.band(times, steps(found.survival_low), steps(found.survival_high))
    axes.line(times, steps(found.survival))
    caption = (
        "All rows: the share without the event, with 95 % intervals (Kaplan–Meier)."
    )
    return figure(axes.svg("Survival curve"), caption)


def _reliability(report: Report) -> str:
    found = report.calibration
    axes = Axes((0, 1), (0, 1), labels=("confidence", "frequency"))
    axes.line([0, 1], [0, 1], "ideal")
    rows = zip(found.confidence, found.frequency, found.frequency_error, strict=True)
    for x, share, error in rows:
        ends = (
            max((share or 0) - 2 * (error or 0), 0),
            (share or 0) + 2 * (error or 0),
        )
        axes.line([x, x], [ends[0], min(ends[1], 1)], "whisker")
    axes.line(found.confidence, found.frequency)
    axes.dots(found.confidence, found.frequency)
    caption = (
        "Frequency of correct predictions by confidence. Expected calibration error "
        f"{100 * (found.expected_error or 0):.1f} points, "
        f"{100 * (found.expected_error_after or 0):.1f} after recalibration (temperature "
        f"{report.winner.temperature:.2f})."
    )
    return figure(axes.svg("Reliability diagram"), caption)


def _curves(report: Report) -> list[str]:
    found = report.decisions
    assert found is not None
    roc = Axes((0, 1), (0, 1), labels=("false positive rate", "true positive rate"))
    roc.line([0, 1], [0, 1], "ideal")
    roc.line(found.false_positive_rate, found.recall)
    pr = Axes((0, 1), (0, 1), labels=("recall", "precision"))
    pr.line(found.recall, found.precision)
    caption = f"Average precision {found.average_precision:.3f}."
    return [
        figure(roc.svg("ROC curve"), f"Area under the ROC curve {found.area:.3f}."),
        figure(pr.svg("Precision and recall"), caption),
    ]


def decisions(report: Report) -> str:
    """Precision and recall by class, the confusion matrix, thresholds and costs."""
    head = ["class", "rows", "predicted", "precision", "recall", "F1"]
    cells = [
        [c.label, number(c.rows), number(c.predicted), *map(score, scores)]
        for c in report.classes
        for scores in [(c.precision, c.recall, c.f1)]
    ]
    caption = (
        "Held-out rows by class: precision is the share of the rows predicted so that are, "
        "recall the share of its rows that are found"
    )
    parts = [table(head, cells, caption)]
    if report.confusion:
        labels = report.target.classes
        rows = [
            [label, *(number(v) for v in row)]
            for label, row in zip(labels, report.confusion, strict=True)
        ]
        head = ["true \\ predicted", *labels]
        parts.append(table(head, rows, "Held-out rows by true and predicted class"))
    if report.decisions:
        parts += _thresholds(report)
    return "".join(parts)


def _thresholds(report: Report) -> list[str]:
    found = report.decisions
    assert found is not None
    event = f"{report.target.name} = {found.positive}"
    head = ["if P above", "rows called", "precision", "recall", "false alarms"]
    cells = [
        [
            f"{d.threshold:g}",
            percent(d.flagged),
            percent(d.precision),
            percent(d.recall),
            percent(d.false_positive_rate),
        ]
        for d in found.thresholds
    ]
    costs = [
        [
            f"{d.cost_ratio:g} {'false alarm' if d.cost_ratio == 1 else 'false alarms'}",
            f"{d.threshold:.2g}",
            percent(d.flagged),
            *(number(100 * (c or 0)) for c in (d.cost, d.cost_of_none, d.cost_of_all)),
        ]
        for d in found.costs
    ]
    cost_head = ["a miss costs", "call if P above", "rows called"]
    cost_head += ["cost per 100 rows", "if none is called", "if all are"]
    caption = (
        "The best threshold by what a missed one costs, in false alarms; costs of held-out "
        "rows in the same unit"
    )
    return [
        f"<h3>Thresholds for {escape(event)}</h3>",
        table(head, cells, f"Calling a row {found.positive} above a threshold"),
        table(cost_head, costs, caption),
    ]
