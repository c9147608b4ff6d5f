"""The learning curve: the held-out loss of a linear model fitted to parts of the rows.

Rows that are left out have weight 0, so that all fits have one shape. The last point, all
rows, is the one that the comparison of models has already computed.
"""

import dataclasses

import numpy as np

from likely import evaluate
from likely.workbench import costs
from likely.workbench.ladder import Event, Fold, Ladder
from likely.workbench.report.measured import LearningCurve

MODELS = ("linear", "penalised")
"""The models that are cheap enough, the cheapest first."""
PARTS = (0.125, 0.25, 0.5)
MAX_FOLDS = 2
MIN_ROWS, ROWS_PER_COLUMN = 40, 4
"""The fewest rows of a part, and of a part for each column after encoding."""
MAX_SHARE = 0.03
"""The largest part of the seconds of a run that the curve may cost."""


def learning_curve(ladder: Ladder) -> LearningCurve | None:
    """The loss of the cheapest model by the number of rows, if there are enough rows."""
    name = next((n for n in MODELS if n in ladder.held_out), "")
    if not name:
        return None
    table, known = ladder.table, ladder.held_out[name]
    used = table.folds.held_out[:, known.rows].any(axis=1)
    numbers = np.flatnonzero(used)[-MAX_FOLDS:].tolist()
    folds = [Fold(table, number, ladder.plan.words) for number in numbers]
    d = folds[0].encoded(ladder.candidates[name].encoding)[0].shape[1]
    n = min(len(fold.train) for fold in folds)
    parts = [p for p in PARTS if p * n >= max(MIN_ROWS, ROWS_PER_COLUMN * (d + 1))]
    if not parts or not _affordable(ladder, n, d, len(parts) * len(folds)):
        return None
    ladder.notify(Event("stage", text="learning curve"))
    tried = [_losses(ladder, name, number, parts) for number in numbers]
    found = [pair for pair in tried if pair is not None]
    if len(found) < len(tried):
        return None
    rows = np.concatenate([rows for rows, _ in found])
    losses = [np.concatenate(each) for each in zip(*(x for _, x in found), strict=True)]
    w = table.w[rows]
    scores = [evaluate.mean_score(loss, w) for loss in losses]
    last = evaluate.paired_difference(losses[-2], losses[-1], w)
    base = ladder.held_out["null"]
    scored = np.isin(base.rows, rows)
    null = evaluate.mean_score(base.loss[scored], table.w[base.rows[scored]])
    size = float(np.mean([len(fold.train) for fold in folds]))
    return LearningCurve(
        ladder.candidates[name].label,
        tuple(round(p * size) for p in (*parts, 1.0)),
        tuple(score.value for score in scores),
        tuple(score.error for score in scores),
        bool(last.value > 2 * last.error) and scores[-1].value < null.value,
    )


def _affordable(ladder: Ladder, n: int, d: int, fits: int) -> bool:
    """Whether so many fits cost a small part of the run."""
    target = ladder.table.target
    cost = costs.newton(n, d * max(1, len(target.classes) - 1), fits)
    cost += fits * costs.scoring(
        len(ladder.table) - n, len(target.classes), target.kind
    )
    return cost <= MAX_SHARE * costs.RUN[ladder.spec.effort]


def _losses(
    ladder: Ladder, name: str, number: int, parts: list[float]
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """Held-out rows of a fold, and their losses by models of parts of its other rows."""
    table, candidate = ladder.table, ladder.candidates[name]
    whole, known = Fold(table, number), ladder.held_out[name]
    order = np.random.default_rng([ladder.spec.seed, number]).permutation(whole.train)
    inside = np.isin(known.rows, whole.test)
    rows, losses = known.rows[inside], [known.loss[inside]]
    for part in reversed(parts):
        w = np.zeros(len(table))
        kept = order[: round(part * len(order))]
        w[kept] = table.w[kept]
        fewer = dataclasses.replace(table, w=w)
        inner = Ladder(ladder.spec, fewer, [candidate], plan=ladder.plan)
        predicted = inner.predictions(
            candidate, number, Fold(fewer, number, ladder.plan.words)
        )
        if isinstance(predicted, str):  # too few rows of some class
            return None
        shared = np.isin(predicted.rows, rows)
        losses.insert(0, predicted.loss[shared])
    return rows, losses
