"""Findings about scores that are too good: leaks, copies, and rows that belong together."""

import shlex
from collections.abc import Iterator

import numpy as np

from likely.core.written_numbers import counted, listed, percent
from likely.diagnostics.checks.duplicates import copied_rows, row_groups
from likely.diagnostics.checks.finding import Finding
from likely.diagnostics.checks.leakage import too_good
from likely.workbench.entities import codes_of, entities
from likely.workbench.findings.measured import Measured
from likely.workbench.table import Table, leaks


def leakage_findings(table: Table) -> Iterator[Finding]:
    """Columns that alone tell the target."""
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
        yield Finding(
            "leakage", "warning", text, advice, name, first=True, code="LK101"
        )


def too_good_findings(found: Measured) -> Iterator[Finding]:
    """Scores that are rare for real data."""
    scores, table = found.winner.scores, found.ladder.table
    name = "accuracy" if "accuracy" in scores else "r2"
    value = scores.get(name)
    base = 0.0
    if name == "accuracy":
        base = float(np.bincount(table.y.astype(int), table.w).max() / table.w.sum())
    if value is None or not found.important:
        return
    n, is_class = float(table.w.sum()), name == "accuracy"
    if not too_good(is_class, n, (1 - value) * n, value, 1 - base):
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
    yield Finding(
        "too good",
        "warning",
        text,
        advice,
        found.important[0],
        first=True,
        code="LK102",
    )


def entity_findings(table: Table) -> Iterator[Finding]:
    """Rows of the same entity in several folds."""
    found = entities(table)
    if found is not None:
        yield Finding(
            "entities", "warning", found.sentence, "", found.column, code="LK104"
        )


def copy_findings(table: Table) -> Iterator[Finding]:
    """Rows of which a fold tests an exact copy of what the others have learned."""
    codes = [codes_of(table, c) for c in table.schema if c.used]
    known = [c for c in codes if c is not None]
    if not known:
        return
    target = np.unique(table.y, return_inverse=True)[1]
    copied = copied_rows([*known, target])
    group, fold = row_groups([*known, target]), table.folds.numbers
    first = np.full(group.max() + 1, -1)
    first[group[::-1]] = fold[::-1]
    split = np.bincount(group, fold != first[group]) > 0
    k = int((copied & split[group]).sum())
    if not k:
        return
    text = (
        f"{counted(k, 'row')} ({percent(k / len(table))}) have an exact copy in another "
        "fold, target and all, so that models are tested on rows that they have seen."
    )
    advice = "Keep one of each, or name what belongs together with --groups."
    yield Finding("duplicates", "warning", text, advice, first=True, code="LK103")
