"""Everything that a report holds, measured once, in the order in which it is needed."""

import dataclasses
import hashlib
import platform
from typing import Any

import numpy as np
import pyarrow as pa

import likely
from likely import evaluate
from likely.diagnostics.checks.collinearity import inflation, repeated
from likely.workbench.effects import effects, importances
from likely.workbench.findings.collected import all_findings
from likely.workbench.findings.measured import Measured
from likely.workbench.ladder import Event, Ladder
from likely.workbench.measures.calibration import calibration
from likely.workbench.measures.decisions import class_scores, decisions
from likely.workbench.measures.interactions import interactions
from likely.workbench.measures.learning_curve import learning_curve
from likely.workbench.measures.rows import group_column, group_scores, worst_rows
from likely.workbench.measures.words import top_words
from likely.workbench.report.contents import VERSION, Report
from likely.workbench.report.facts import (
    ColumnFacts,
    Data,
    ModelScores,
    TargetFacts,
    Winner,
)
from likely.workbench.report.measured import EffectFacts, ImportanceFacts, Simple
from likely.workbench.report.typed_json import plain, typed
from likely.workbench.simple import design, simple_model
from likely.workbench.table import Table

MAX_CONFUSION_CLASSES = 12
"""The largest number of classes of a confusion matrix."""


def reported(
    ladder: Ladder,
    rows: tuple[ModelScores, ...],
    winner: Winner,
    covered: dict[str, Any],
) -> Report:
    """The report of a run.

    Args:
        ladder: the run.
        rows: the scores of its models.
        winner: the best of them.
        covered: the intervals or sets of its held-out rows.
    """
    table, name = ladder.table, winner.name
    predictions = ladder.held_out[name]
    y, w = table.y[predictions.rows], table.w[predictions.rows]
    ladder.notify(Event("stage", text="coefficients of a linear model"))
    columns = design(table)
    inflated = inflation(columns, table.w)
    late = "they would take longer than this effort allows; try a greater --effort"
    brief = not ladder.plan.affords_coefficients()
    affordable = not brief or ladder.plan.affords_coefficients(brief=True)
    simple = Simple(refusal=late)
    if affordable:
        simple = simple_model(table, columns, brief=brief)
    vif = {i.column: i.vif for i in inflated}
    simple = dataclasses.replace(simple, inflation=vif)
    important = [] if name == "null" else importances(ladder, name)
    used = [i.column for i in important if i.nats > 0]
    valued = [column for column in used if table.schema[column].used]
    checked = calibration(table, predictions, winner.temperature)
    curve = learning_curve(ladder)
    confusion, by_class, chosen = np.zeros((0, 0)), (), None
    if predictions.probs is not None:
        confusion = evaluate.confusion(y, covered["probs"], w)
        by_class = class_scores(confusion, table.target.classes)
        if len(table.target.classes) == 2 and len(np.unique(y)) == 2:
            positive = table.target.classes[1]
            chosen = decisions(y, covered["probs"][:, 1], w, positive)
        if len(confusion) > MAX_CONFUSION_CLASSES:
            confusion = np.zeros((0, 0))
    words = top_words(ladder)
    grouped = group_scores(
        table, predictions, _covers(y, covered), group_column(table, used)
    )
    parts = (repeated(inflated), words, grouped)
    found = Measured(ladder, winner, simple, checked, curve, used, *parts)
    return Report(
        version=VERSION,
        likely=likely.__version__,
        spec=ladder.spec,
        data=_data(table, ladder.texts),
        target=_target(table),
        ladder=rows,
        skipped={ladder.candidates[k].label: v for k, v in ladder.skipped.items()},
        shrunk=tuple(
            ladder.plan.notes(
                ladder.spec.folds,
                {k: c.label for k, c in ladder.candidates.items()},
            )
        ),
        winner=winner,
        simple=simple,
        calibration=checked,
        confusion=tuple(map(tuple, confusion)),
        classes=by_class,
        decisions=chosen,
        groups=grouped,
        worst=worst_rows(table, predictions, covered, used),
        importances=tuple(ImportanceFacts(*i) for i in important),
        effects=tuple(
            typed(EffectFacts, plain(e))
            for e in (effects(ladder, name, valued) if valued else ())
        ),
        interactions=interactions(ladder, name, valued),
        learning_curve=curve,
        findings=all_findings(found),
        versions=_versions(),
        words=words,
    )


def _covers(y: np.ndarray, covered: dict[str, Any]) -> np.ndarray:
    """Whether the interval or set of each held-out row contains its target."""
    if "sets" in covered:
        return covered["sets"][np.arange(len(y)), y.astype(int)]
    return covered["inside"]


def _target(table: Table) -> TargetFacts:
    names = [field.name for field in dataclasses.fields(TargetFacts)]
    return TargetFacts(**{name: getattr(table.target, name) for name in names})


def _data(table: Table, texts: tuple[str, ...]) -> Data:
    names = [field.name for field in dataclasses.fields(ColumnFacts)]
    columns = []
    for column in table.schema:
        facts = ColumnFacts(**{name: getattr(column, name) for name in names})
        used = column.used or column.name in texts
        columns.append(dataclasses.replace(facts, used=used))
    return Data(
        name=table.name,
        rows=len(table),
        weight=float(table.w.sum()),
        split=table.split,
        folds=_sha(table.folds.train, table.folds.held_out),
        truths=_sha(table.rows, table.y, table.w),
        digest=digest(table),
        notes=table.notes,
        columns=tuple(columns),
    )


def _sha(*arrays: np.ndarray) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _versions() -> dict[str, str]:
    import jax
    import sklearn

    return {
        "likely": likely.__version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "device": jax.devices()[0].device_kind,
    }


def digest(table: Table) -> str:
    """A checksum of the rows, the targets and the weights."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.frame.schema) as file:
        file.write_table(table.frame.combine_chunks())
    found = hashlib.sha256(sink.getvalue())
    found.update(table.y.tobytes())
    found.update(table.w.tobytes())
    return found.hexdigest()
