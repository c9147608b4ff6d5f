"""The sections of the report, each a function of the typed report."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likely.core.written_numbers import (
    counted,
    number,
    p_value,
    percent,
    with_error,
)
from likely.workbench.report import effects
from likely.workbench.report.charts import Axes, rows_chart
from likely.workbench.report.contents import Report
from likely.workbench.report.markup import escape, figure, grid, paragraph, table
from likely.workbench.report.measured import Coefficient
from likely.workbench.report.verdict import NATS, score, shrunk_lines

MAX_COEFFICIENTS, MAX_DRAWN = 60, 25
"""How many coefficients are listed, and how many are drawn."""
SCORE_NAMES = {
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "auc": "AUC",
    "ece": "calibration error",
    "brier": "Brier score",
    "rps": "RPS",
}


def comparison(report: Report) -> str:
    """Scores and gains of all models, and a chart of the gains."""
    rows = report.ladder
    best = [row.name for row in rows].index(report.winner.name)
    labels = {row.name: row.label for row in rows}
    scores = list(rows[0].scores)
    head = ["model", "nats", "gain", "over", *(_named(s, report) for s in scores)]
    cells = [
        [
            row.label,
            with_error(row.nats, row.error),
            with_error(row.gain, row.gain_error, "+") if row.gain_over else "",
            labels.get(row.gain_over, ""),
            *(score(row.scores.get(name)) for name in scores),
        ]
        for row in rows
    ]
    chart = rows_chart(
        [_whiskers(r.label, r.gain_over_null, r.gain_over_null_error) for r in rows],
        title="Gain over the null model, in nats per row, with two standard errors",
        label="nats per row gained over the null model (± 2 standard errors)",
        marked=best,
    )
    caption = (
        "Negative log-likelihood of held-out rows in nats per row (lower is better), ± its "
        "standard error; the gain is over the best simpler model, on the same rows."
    )
    notes = [_full(f"{row.label}: {note}") for row in rows for note in row.notes]
    notes += shrunk_lines(report)
    left = [f"Left out: {k}, because {why}." for k, why in report.skipped.items()]
    return (
        table(head, cells, caption, best)
        + paragraph(NATS, "soft")
        + figure(chart, "Right of zero is better.", wide=True)
        + "".join(paragraph(text, "soft") for text in (*notes, *left))
    )


def _named(name: str, report: Report) -> str:
    """The name of a score."""
    levels = " (levels)" if name == "mae" and report.is_class else ""
    return f"{SCORE_NAMES.get(name, name)}{levels}"


def _whiskers(name: str, value: Any, error: Any) -> tuple:
    """A row of a chart: a value with two standard errors."""
    value, width = value or 0.0, 2 * (error or 0)
    return name, value, value - width, value + width


def findings(report: Report) -> str:
    """Warnings and notes, with advice."""
    if not report.findings:
        return "<p>There is nothing to report.</p>"
    return "".join(
        f'<div class="finding {escape(f.level)}"><b>{escape(f.kind.capitalize())}'
        f"{f' ({escape(f.code)})' if f.code else ''}.</b> "
        f'{escape(f.text)} <span class="soft">{escape(f.advice)}</span></div>'
        for f in report.findings
    )


def coefficients(report: Report) -> str:
    """Coefficients of an unpenalised linear model, in the units of the table."""
    found = report.simple
    if not found.rows:
        why = found.refusal or "it could not be fitted."
        return paragraph(_full(f"no coefficients are shown: {why}"))
    several = len({row.of_class for row in found.rows}) > 1
    shown = [row for row in found.rows if row.column]
    shown = sorted(shown, key=lambda r: 1.0 if r.p is None else r.p)[:MAX_DRAWN]
    text = (
        f"{found.title[0].upper()}{found.title[1:]}, fitted to all rows without a penalty, "
        f"in the units of the table.{_meaning(report)}"
    )
    facts = ", ".join(
        f"{name} {number(value, 4)}"
        for name, value in found.facts.items()
        if value is not None
    )
    chart = rows_chart(
        [_standardised(row, several) for row in shown],
        title="Coefficients for one standard deviation of each column",
        label="effect of one standard deviation of the column (95 % interval)",
    )
    caption = "A column whose interval excludes zero carries information that the others lack."
    return (
        paragraph(text)
        + _coefficient_table(report, several)
        + paragraph(f"Fit: {facts}.", "soft")
        + figure(chart, caption, wide=True)
    )


def _meaning(report: Report) -> str:
    found, name = report.simple, report.target.name
    if found.ratio == "odds ratio" and not found.base:
        return (
            " Estimates are log-odds of a higher level; the odds ratio is the factor of "
            "these odds by one unit."
        )
    if found.ratio == "odds ratio":
        words = f"log-odds against {name} = {found.base}"
        return f" Estimates are {words}; the odds ratio is the factor of the odds by one unit."
    if found.ratio:
        return f" The {found.ratio} is what one unit of a column multiplies {name} by."
    return f" An estimate is the change of {name} by one unit of a column."


def _coefficient_table(report: Report, several: bool) -> str:
    found = report.simple
    head = ["column", *([report.target.name] if several else []), "estimate"]
    head += ["std. error", "95 % interval"]
    head += [found.ratio, "its 95 % interval"] if found.ratio else []
    cells = []
    for r in found.rows[:MAX_COEFFICIENTS]:
        ratio = found.ratio and [
            number(r.ratio, 4),
            _interval(r.ratio_low, r.ratio_high, 4),
        ]
        cells.append(
            [
                f"{r.name} (against {r.reference})" if r.reference else r.name,
                *([r.of_class] if several else []),
                number(r.estimate),
                number(r.error),
                _interval(r.low, r.high),
                *(ratio or ()),
                p_value(r.p),
                *([_factor(found.inflation, r.column)] if found.inflation else []),
            ]
        )
    more = ""
    if len(found.rows) > MAX_COEFFICIENTS:
        more = f"; the first {MAX_COEFFICIENTS} of {len(found.rows)} are listed"
    caption = f"Estimates with standard errors{more}"
    if found.inflation:
        caption += "; VIF is the factor by which other columns inflate the variance of an estimate"
    return table([*head, "p", *(["VIF"] if found.inflation else [])], cells, caption)


def _factor(inflation: Mapping[str, Any], column: str) -> str:
    if column not in inflation:
        return ""
    value = inflation[column]
    return "∞" if value is None else number(value)


def _interval(low: Any, high: Any, digits: int = 3) -> str:
    if low is None or high is None:
        return ""
    return f"{number(low, digits)} to {number(high, digits)}"


def _standardised(row: Coefficient, several: bool) -> tuple:
    name = f"{row.name} [{row.of_class}]" if several else row.name
    values = (row.estimate, row.low, row.high)
    middle, low, high = ((v or 0.0) * (row.spread or 0.0) for v in values)
    return name, middle, low, high


def rows(report: Report) -> str:
    """Errors and coverage by group, and the rows that the model is most wrong about."""
    parts = []
    found = report.groups
    if found is not None:
        names = list(found.groups[0].scores)
        head = [found.column, "rows", "nats"]
        head += [_named(n, report) for n in names] + ["covered"]
        cells = [
            [
                g.label,
                number(g.rows),
                with_error(g.nats, g.nats_error),
                *(score(g.scores.get(n)) for n in names),
                percent(g.coverage),
            ]
            for g in found.groups
        ]
        more = f"; {counted(found.others, 'smaller group')} not listed"
        caption = f"Held-out rows by {found.column}{more if found.others else ''}"
        parts.append(table(head, cells, caption))
    if report.worst:
        parts.append(_worst(report))
    return "".join(parts) or "<p>There is nothing to show.</p>"


def _worst(report: Report) -> str:
    first = report.worst[0]
    columns = list(first.values)
    keyed = bool(first.key)
    last = "P(true)" if report.is_class else "interval"
    head = ["row", *(["key"] if keyed else []), "true", "predicted", last, "nats"]
    cells = []
    for r in report.worst:
        cells.append(
            [
                r.row,
                *([r.key] if keyed else []),
                _value(r.true),
                _value(r.predicted),
                number(r.probability) if report.is_class else _interval(r.low, r.high),
                number(r.nats),
                *(r.values[c] for c in columns),
            ]
        )
    caption = (
        "The held-out rows that the best model finds least likely: wrong cells, or cases "
        "that the columns do not explain? (Rows are counted from 0.)"
    )
    return table([*head, *columns], cells, caption)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else number(value, 4)


def importance(report: Report) -> str:
    """Importances, partial effects and interactions of columns."""
    found = report.importances
    if not found:
        return "<p>No column improves the predictions.</p>"
    chart = rows_chart(
        [_whiskers(i.column, i.nats, i.error) for i in found[:20]],
        title="Importance of columns",
        label="nats per row lost when the column is shuffled (± 2 standard errors)",
    )
    text = (
        "Computed on held-out rows by the models of single folds. These are effects on "
        "predictions; they need not be causal."
    )
    columns = [c for c in report.data.columns if c.used and c.kind != "text"]
    if len(found) < len(columns):
        text += (
            f" The {len(found)} columns that matter most were searched for by shuffling "
            "groups of columns."
        )
    parts = [paragraph(text), figure(chart, "", wide=True)]
    pictures = [effects.effect(report, e) for e in report.effects]
    if any(pictures):
        parts += ["<h3>Partial effects</h3>", grid(pictures)]
    if report.interactions:
        parts += ["<h3>Interactions</h3>", _interactions(report)]
    if report.words:
        parts += ["<h3>Words</h3>", _words(report)]
    return "".join(parts)


def _words(report: Report) -> str:
    """The words of texts, and what they change."""
    cells = [
        [
            w.column,
            w.word,
            with_error(w.effect, w.error, "+"),
            w.of_class,
            percent(w.share),
        ]
        for w in report.words
    ]
    caption = (
        "The change of the linear predictor of the model with text when a word is in the text "
        "(± standard deviation over folds)"
    )
    head = ["column", "word", "effect", "on the log-odds of", "rows"]
    if not report.is_class:
        head, cells = head[:3] + head[4:], [row[:3] + row[4:] for row in cells]
    return table(head, cells, caption)


def _interactions(report: Report) -> str:
    cells = [
        [" × ".join(i.columns), percent(i.share, 0), number(i.size)]
        for i in report.interactions[:5]
    ]
    caption = (
        "How much of the joint effect of two columns is no sum of their effects, on the "
        "scale of the linear predictor"
    )
    return table(["columns", "share", "typical size"], cells, caption)


def learning(report: Report) -> str:
    """The loss of a simple model by the number of rows."""
    curve = report.learning_curve
    if curve is None:
        return "<p>There are too few rows for parts of them, or it would cost too much.</p>"
    rows = np.array(curve.rows, float)
    nats = np.array(curve.nats, float)
    errors = np.array([e or 0.0 for e in curve.errors])
    low, high = nats - errors, nats + errors
    pad = 0.05 * max(float(high.max() - low.min()), 1e-9)
    axes = Axes(
        (0, rows[-1]), (low.min() - pad, high.max() + pad),
        labels=("rows it was fitted to", "nats per held-out row"),
    )  # fmt: skip
    axes.band(rows, low, high)
    axes.line(rows, nats)
    axes.dots(rows, nats)
    still = "is still falling: more rows would help" if curve.still_falling else (
        "has flattened: more rows of this kind would help this model little"
    )  # fmt: skip
    caption = f"The {curve.model} fitted to parts of the rows (± 1 standard error)."
    text = paragraph(f"The loss of the {curve.model} {still}.")
    return text + grid([figure(axes.svg("Learning curve"), caption)])


def data(report: Report) -> str:
    """The columns, and what they were read as."""
    cells = []
    for c in report.data.columns:
        ends = "" if c.low is None else f"{_end(c.low)} to {_end(c.high)}"
        seen = ends or ", ".join(effects.shown(v, c.kind) for v in c.examples[:3])
        kind = c.kind if c.used else f"{c.kind} (left out)"
        different = "" if c.distinct is None else number(c.distinct)
        cells.append([c.name, kind, number(c.missing), different, seen[:60], c.reason])
    head = ["column", "kind", "missing", "different", "values", "why this kind"]
    caption = (
        f"{counted(report.data.rows, 'row')}, split into folds {report.data.split}"
    )
    target = report.target
    text = (
        f"<p>The target <b>{escape(target.name)}</b> is {escape(target.kind)} "
        f"({escape(target.reason)}), family {escape(target.family.replace('_', ' '))}.</p>"
    )
    notes = "".join(paragraph(_full(note), "soft") for note in report.data.notes)
    return text + table(head, cells, caption, text=(4, 5)) + notes


def _full(note: str) -> str:
    """A note with a capital and a full stop."""
    return f"{note[:1].upper()}{note[1:].rstrip('.')}."


def _end(value: Any) -> str:
    return number(value, 4) if isinstance(value, int | float) else str(value)


def reproduce(report: Report) -> str:
    """The command that repeats the run, and the versions that were used."""
    versions = ", ".join(f"{k} {v}" for k, v in report.versions.items())
    return (
        f"<p>In the folder of this report:</p><pre>likely fit --spec spec.toml</pre>"
        f"<p>or</p><pre>{escape(report.spec.command())}</pre>"
        f"<p>New rows: <code>likely predict . rows.csv</code></p>"
        f'<p class="soft">{escape(versions)}. Data sha256 '
        f"{escape(report.data.digest[:16])}….</p>"
    )
