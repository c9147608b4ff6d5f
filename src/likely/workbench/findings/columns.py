"""Findings about columns: left out, with gaps, of text, of many levels."""

import shlex
from collections.abc import Iterator

from likely.core.written_numbers import counted, listed, percent, with_error
from likely.diagnostics.checks.finding import Finding
from likely.workbench.candidates import TEXT
from likely.workbench.findings.measured import Measured
from likely.workbench.fitted import pooled_levels
from likely.workbench.measures.words import text_gain
from likely.workbench.report.measured import (
    WordFacts,
)
from likely.workbench.table import Table
from likely.workbench.target import Target


def column_findings(table: Table, texts: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Columns that were left out, and those with missing values."""
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


def text_findings(found: Measured) -> Iterator[Finding]:
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


def pooled_levels_findings(table: Table) -> Iterator[Finding]:
    """Columns with so many levels that rare ones share a coefficient."""
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
