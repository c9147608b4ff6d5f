"""The comparison of models on held-out rows: nats, gains, and familiar scores.

The gain of a model is over the best of the simpler models, which are those before it in
the order of the candidates; the stacked mixture is compared with the best of all.
"""

import dataclasses

import numpy as np

from likely import evaluate
from likely.workbench import scoring
from likely.workbench.candidates import STACK
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.ladder import Ladder
from likely.workbench.report.facts import ModelScores, Simpler

WITHIN = 2.0
"""A model is as good as another if it is behind by at most so many standard errors."""


def compared(ladder: Ladder) -> tuple[ModelScores, ...]:
    """Each model of a run with its scores, from simple to flexible."""
    rows: list[ModelScores] = []
    for name, predictions in ladder.held_out.items():
        w = ladder.table.w[predictions.rows]
        nats = evaluate.mean_score(predictions.loss, w)
        simpler = min(rows, key=lambda row: row.nats).name if rows else ""
        gain = gain_over(ladder, simpler, predictions)
        over_null = gain_over(ladder, rows[0].name if rows else "", predictions)
        stacked = name == STACK
        row = ModelScores(
            name=name,
            label="stacked mixture" if stacked else ladder.candidates[name].label,
            nats=nats.value,
            error=nats.error,
            gain=gain.value,
            gain_error=gain.error,
            gain_over=simpler,
            gain_over_null=over_null.value,
            gain_over_null_error=over_null.error,
            scores=scoring.standard_scores(ladder.table, predictions),
            weights=dict(ladder.stack_weights) if stacked else {},
        )
        rows.append(row)
    return tuple(rows)


def gain_over(
    ladder: Ladder, other: str, predictions: HeldOutPredictions
) -> evaluate.Score:
    """How many nats per row predictions gain over those of another model."""
    if not other:
        return evaluate.Score(0.0, 0.0)
    w = ladder.table.w[predictions.rows]
    return evaluate.paired_difference(ladder.held_out[other].loss, predictions.loss, w)


def simpler_model(
    ladder: Ladder, rows: tuple[ModelScores, ...], winner: ModelScores
) -> Simpler | None:
    """The simplest model that is within two standard errors of the best one."""
    best = ladder.held_out[winner.name]
    for row in rows[: [r.name for r in rows].index(winner.name)]:
        gap = gain_over(ladder, row.name, best)
        if np.isfinite(gap.error) and gap.value <= WITHIN * gap.error:
            return Simpler(row.name, row.label, gap.value, gap.error)
    return None


def with_notes(
    rows: tuple[ModelScores, ...], notes: dict[str, str]
) -> tuple[ModelScores, ...]:
    """The rows with sentences about models that were made smaller."""
    return tuple(
        dataclasses.replace(row, notes=(notes[row.name],)) if row.name in notes else row
        for row in rows
    )
