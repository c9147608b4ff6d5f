"""Findings: warnings and notes about the data and the models, with advice.

The advice is for the command line: what it names are options of `likely fit`.
"""

import shlex
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from likely import evaluate
from likely.workbench.candidates import TEXT
from likely.workbench.collinearity import Inflation
from likely.workbench.entities import entities
from likely.workbench.fitted import pooled_levels
from likely.workbench.ladder import Ladder
from likely.workbench.measures.words import text_gain
from likely.workbench.report.facts import Finding, Winner
from likely.workbench.report.measured import (
    Calibration,
    LearningCurve,
    Simple,
    WordFacts,
)
from likely.workbench.report.numbers import counted, listed, number, percent, with_error
from likely.workbench.survival import suggested_event
from likely.workbench.table import Table, leaks
from likely.workbench.target import Target

MIN_DISPERSION = 1.5
"""Counts that vary so many times as much as Poisson counts are called over-dispersed."""
TOO_GOOD, TOO_GOOD_ROWS = 0.995, 50
"""The accuracy or R² from which a result is doubted, and the fewest rows."""


class Measured(NamedTuple):
    """What the findings are about."""

    ladder: Ladder
    winner: Winner
    simple: Simple
    calibration: Calibration
    learning_curve: LearningCurve | None
    important: list[str]
    """The columns that matter, the most important first."""
    inflated: tuple[Inflation, ...] = ()
    """Columns that others repeat."""
    words: tuple[WordFacts, ...] = ()
    """Of columns of text, those that matter most first."""


def all_findings(found: Measured) -> tuple[Finding, ...]:
    """All findings of a run: what has to be read first, other warnings, notes."""
    table = found.ladder.table
    leaking = list(_leakage(table))
    findings = [
        *leaking,
        *([] if leaking else _too_good(found)),
        *_columns(table, found.ladder.texts),
        *_texts(found),
        *_pooled(table),
        *_rows(table),
        *_entities(table),
        *_events(table),
        *_linear(found.simple, found.inflated),
        *_dispersion(found),
        *_calibration(found),
        *_coverage(found),
        *_overfitting(found),
        *_simpler(found.winner),
        *_more_rows(found.learning_curve),
    ]
    return tuple(sorted(findings, key=lambda f: (not f.first, f.level != "warning")))


def _columns(table: Table, texts: tuple[str, ...] = ()) -> Iterator[Finding]:
    for column in table.schema:
        if column.used or column.name in texts:
            continue
        what = f"is {column.kind}: {column.reason}"
        if column.identifier:
            what = f"is an identifier ({column.reason})"
        if column.constant:
            what = "has the same value in every row"
        option = shlex.quote(f"{column.name}=KIND")
        advice = "It was left out."
        if not column.constant:
            advice += f" Use it with --kind {option}."
        text = f"Column {column.name!r} {what}."
        yield Finding("column", "note", text, advice, column.name)
    gaps = [(c.missing / len(table), c) for c in table.schema if c.used and c.missing]
    gaps = sorted(gaps, key=lambda gap: -gap[0])
    if gaps:
        most = [f"{c.name!r} ({percent(share, 0)})" for share, c in gaps[:3]]
        which = "" if len(gaps) <= 3 else "most of all "
        have = "has" if len(gaps) == 1 else "have"
        text = (
            f"{counted(len(gaps), 'column')} {have} missing values: {which}"
            f"{listed(most)}."
        )
        advice = f"{_filled([c.kind for _, c in gaps])} Find out why they are missing: "
        advice += "if that depends on the target, so do the predictions."
        yield Finding("missing", "note", text, advice)


def _texts(found: Measured) -> Iterator[Finding]:
    """What the words of texts gain, and which of them matter."""
    ladder, gain = found.ladder, text_gain(found.ladder)
    if gain is None:
        return
    columns = listed([repr(name) for name in ladder.texts])
    over = ladder.candidates[gain.over].label
    size = f"{with_error(gain.nats, gain.error)} nats per row over the {over}"
    helps = gain.nats > 2 * gain.error
    text = f"The words of {columns} gain {size}, which has no text."
    if not helps:
        text = (
            f"The words of {columns} tell nothing certain about {ladder.table.target.name}: "
            f"they gain {size}, which has no text."
        )
    advice = f"Only the {ladder.candidates[TEXT.name].label} reads them."
    yield Finding("text", "note", text, advice, ladder.texts[0])
    for column in ladder.texts if helps else ():
        own = [word for word in found.words if word.column == column]
        parts = _directions(own, ladder.table.target)
        if parts:
            yield Finding("words", "note", f"Words of {column!r}: {parts}.", "", column)


def _directions(words: list[WordFacts], target: Target) -> str:
    """The words that speak for each class, or for more and for less."""
    several = len(target.classes) > 2
    named: dict[str, list[str]] = {}
    for word in words:
        up = (word.effect or 0.0) > 0
        if several:
            side = f"for {word.of_class!r}"
        elif target.classes:
            side = f"for {target.classes[int(up)]!r}"
        else:
            side = f"{'more' if up else 'less'} {target.name}"
        named.setdefault(side, []).append(repr(word.word))
    return "; ".join(f"{side} {listed(own[:5])}" for side, own in named.items())


def _pooled(table: Table) -> Iterator[Finding]:
    for name, (levels, kept) in pooled_levels(table.schema, len(table)).items():
        text = (
            f"Column {name!r} has {levels:,} levels: in linear models and networks the "
            f"{kept:,} commonest have a coefficient each and the others share one."
        )
        yield Finding("levels", "note", text, "", name)


def _filled(kinds: list[str]) -> str:
    """How missing values of columns of these kinds are handled."""
    words = {"category": "categories", "code": "categories"}
    named = {words.get(kind, "numbers") for kind in kinds}
    said = []
    if "numbers" in named:
        said.append(
            "Missing numbers are filled with the mean, and a column of their own marks "
            "them."
        )
    if "categories" in named:
        said.append("A missing category counts as a category of its own.")
    return " ".join(said)


def _leakage(table: Table) -> Iterator[Finding]:
    for name, share in leaks(table).items():
        part = percent(share)
        text = (
            f"Column {name!r} alone tells {table.target.name} almost exactly ({part} "
            "explained), so the scores below may be too good to be true."
        )
        advice = (
            f"Is {name!r} known before {table.target.name} is? If not, leave it out with "
            f"--drop {shlex.quote(name)}."
        )
        yield Finding("leakage", "warning", text, advice, name, first=True)


def _too_good(found: Measured) -> Iterator[Finding]:
    scores, table = found.winner.scores, found.ladder.table
    name = "accuracy" if "accuracy" in scores else "r2"
    value = scores.get(name)
    base = 0.0
    if name == "accuracy":
        base = float(np.bincount(table.y.astype(int), table.w).max() / table.w.sum())
    if value is None or len(table) < TOO_GOOD_ROWS or value < TOO_GOOD:
        return
    if base > TOO_GOOD - 0.05 or not found.important:
        return
    what = f"explains {percent(value)} of the variance"
    if name == "accuracy":
        what = f"is right in {percent(value)} of rows"
    columns = listed([repr(c) for c in found.important[:2]])
    text = f"The best model {what}, which is rare for real data."
    advice = (
        f"Are {columns} known before {table.target.name} is? Leave out with --drop what "
        "is not."
        if len(found.important) > 1
        else f"Is {columns} known before {table.target.name} is? If not, leave it out "
        "with --drop."
    )
    yield Finding("too good", "warning", text, advice, found.important[0], first=True)


def _rows(table: Table) -> Iterator[Finding]:
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
        yield Finding("rows", "note", text, advice)
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


def _events(table: Table) -> Iterator[Finding]:
    target = table.target
    sentence = suggested_event(target.name, target.kind, table.frame)
    if sentence:
        yield Finding("events", "warning", sentence, "", target.name)


def _entities(table: Table) -> Iterator[Finding]:
    found = entities(table)
    if found is not None:
        yield Finding("entities", "warning", found.sentence, "", found.column)


def _linear(simple: Simple, inflated: tuple[Inflation, ...]) -> Iterator[Finding]:
    spared = "The predictions do not suffer, but read such coefficients together."
    for one in inflated:
        yield Finding("collinearity", "note", one.sentence, spared, one.column)
    for name, sentence in simple.warnings:
        if "Separation" in name or "separates" in sentence:
            corrected = (
                "The coefficients that are shown are finite by Firth's correction. "
                if simple.rows
                else "So no coefficients are shown. "
            )
            advice = (
                f"{corrected}The linear models that are compared have a small penalty. "
                "Check whether such a column contains the target; leave it out with "
                "--drop if it does."
            )
            yield Finding("separation", "warning", sentence, advice)
        elif not inflated and ("Collinear" in name or name == "Repeated"):
            advice = (
                "The predictions do not suffer; leave such columns out with --drop."
            )
            yield Finding("collinearity", "note", sentence, advice)


def _dispersion(found: Measured) -> Iterator[Finding]:
    table = found.ladder.table
    if table.target.kind != "count":
        return
    predictions = found.ladder.held_out[found.winner.name]
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    mean = np.maximum(predictions.mean, 0.0)
    with np.errstate(all="ignore"):
        ratio = float(w @ (y - mean) ** 2) / max(float(w @ mean), 1e-300)
    if not MIN_DISPERSION <= ratio < np.inf:
        return
    text = (
        f"Around the predictions of the best model the counts vary {number(ratio)} times "
        "as much as Poisson counts would."
    )
    if table.target.family == "poisson":
        advice = (
            "Use --family negative_binomial, which allows for it; standard errors of "
            "Poisson regression are too small."
        )
        yield Finding("over-dispersion", "warning", text, advice)
    else:
        family = table.target.family.replace("_", " ")
        advice = f"The {family} family, which is used here, allows for that."
        yield Finding("over-dispersion", "note", text, advice)


def _calibration(found: Measured) -> Iterator[Finding]:
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
        text = _interval_change(winner.stretch)
        advice = "The saved model does that by itself."
    else:
        return
    yield Finding("miscalibration", "note", text, advice)


def _interval_change(s: float) -> str:
    """The sentence about the factor s by which all intervals were stretched."""
    widened = f"had to be widened by {100 * (s - 1):.0f} %"
    narrowed = f"could be narrowed by {100 * (1 - s):.0f} %"
    return f"Intervals of the best model {widened if s > 1 else narrowed}."


def _coverage(found: Measured) -> Iterator[Finding]:
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
        yield Finding("coverage", "warning", text, advice)
        return
    if target.is_class:
        advice = "A set holds whole classes, so it may cover more than was asked."
    elif target.kind == "real" or target.kind == "positive":
        advice = "They are wider than these rows need: that is on the safe side."
    else:
        advice = (
            "Values that occur often cannot be covered by a part, so more are covered."
        )
    yield Finding("coverage", "note", text, advice)


def _overfitting(found: Measured) -> Iterator[Finding]:
    ladder = found.ladder
    null = ladder.held_out["null"]
    worse: list[str] = []
    for name, predictions in ladder.held_out.items():
        w = ladder.table.w[predictions.rows]
        gap = evaluate.paired_difference(predictions.loss, null.loss, w)
        if name in ladder.candidates and gap.value > 2 * gap.error > 0:
            worse.append(ladder.candidates[name].label)
    if worse:
        text = f"Worse than the null model on held-out rows: {', '.join(worse)}."
        advice = "They overfit: there is too little signal, or there are too few rows."
        if ladder.table.group_name:
            advice += " New groups may also differ from those that they know."
        yield Finding("overfitting", "note", text, advice)
    elif found.winner.name == "null":
        text = "No model is better than the null model: the columns do not predict the target."
        yield Finding("signal", "warning", text, "Try other columns, or more rows.")


def _simpler(winner: Winner) -> Iterator[Finding]:
    simpler = winner.simpler
    if simpler is None or simpler.name == "null":
        return
    text = (
        f"A simpler model is as good within error: the {simpler.label} is "
        f"{with_error(simpler.behind, simpler.error)} nats per row behind the "
        f"{winner.label}."
    )
    advice = f"To use it instead, fit with --models {simpler.name}."
    yield Finding("simpler model", "note", text, advice)


def _more_rows(curve: LearningCurve | None) -> Iterator[Finding]:
    if curve is None or not curve.still_falling:
        return
    before, after = curve.nats[-2:]
    text = (
        f"More rows would still help: from {curve.rows[-2]:,} to {curve.rows[-1]:,} rows "
        f"the {curve.model} gains {number((before or 0) - (after or 0))} nats per row."
    )
    yield Finding("more rows", "note", text, "Collect more rows like these if you can.")
