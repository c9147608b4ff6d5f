"""Held-out rows by group, and those that the best model finds least likely."""

from typing import Any

import numpy as np

from likely import evaluate
from likely.core.written_numbers import shown, yes_no
from likely.data.columns import as_levels
from likely.workbench import scoring
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.quantiles import MIDDLE
from likely.workbench.report.measured import Groups, GroupScores, RowError
from likely.workbench.survival import shown_time
from likely.workbench.table import Table

MAX_GROUPS, MIN_GROUP_ROWS, MAX_LEVELS = 12, 10, 50
"""The largest number of groups that are listed, the fewest rows of one, and the largest
number of levels of a column that is taken for groups."""
MAX_WORST, MAX_VALUES = 10, 4
"""How many rows are listed, and the values of how many columns."""


def group_column(table: Table, important: list[str]) -> str:
    """The most important column of categories, by which errors are listed."""
    for name in important:
        column = table.schema[name]
        few = column.distinct is None or column.distinct <= MAX_LEVELS
        if column.kind in ("category", "code", "boolean") and few:
            return name
    return ""


def group_scores(
    table: Table, predictions: HeldOutPredictions, covers: np.ndarray, column: str
) -> Groups | None:
    """Scores and coverage of held-out rows by the values of a column.

    Args:
        table: the rows.
        predictions: of the best model.
        covers: whether the interval or set of each held-out row contains its target.
        column: the column of groups, or the one that `--groups` named.
    """
    levels = table.groups
    if levels is None:
        if not column:
            return None
        levels = as_levels(table.frame[column], column)
    codes, w = levels.codes[predictions.rows], table.w[predictions.rows]
    counts = np.bincount(codes[codes >= 0], minlength=len(levels.categories))
    order = np.argsort(-counts, kind="stable")
    listed = [i for i in order[:MAX_GROUPS] if counts[i] >= MIN_GROUP_ROWS]
    if len(listed) < 2:
        return None
    is_truth = not table.group_name and table.schema[column].kind == "boolean"
    found = []
    for i in listed:
        label = levels.categories[i]
        inside = codes == i
        part = predictions._replace(
            **{k: v[inside] for k, v in predictions._asdict().items() if v is not None}
        )
        nats = evaluate.mean_score(part.loss, w[inside])
        found.append(
            GroupScores(
                yes_no(label) if is_truth else label,
                int(inside.sum()),
                nats.value,
                nats.error,
                _scores(table, part),
                float(w[inside] @ covers[inside] / w[inside].sum()),
            )
        )
    name = table.group_name or column
    return Groups(name, tuple(found), int((counts > 0).sum()) - len(listed))


def _scores(table: Table, part: HeldOutPredictions) -> dict[str, Any]:
    """The scores that have a meaning inside of one group."""
    y, w = table.y[part.rows], table.w[part.rows]
    if part.probs is None:
        found = scoring.standard_scores(table, part)
        if table.target.kind == "survival":
            return {**found, "events": float(w @ (y > 0) / w.sum())}
        bias = float(w @ (part.mean - y) / w.sum())
        return {"rmse": found.get("rmse"), "mae": found.get("mae"), "bias": bias}
    if part.probs.shape[1] == 2:
        extra = {
            "mean probability": float(w @ part.probs[:, 1] / w.sum()),
            "frequency": float(w @ y / w.sum()),
        }
    else:
        extra = {}
    return {"accuracy": 1 - evaluate.error_rate(y, part.probs, w).value, **extra}


def worst_rows(
    table: Table,
    predictions: HeldOutPredictions,
    covered: dict[str, Any],
    important: list[str],
) -> tuple[RowError, ...]:
    """The held-out rows with the largest loss, and some of their values."""
    order = np.argsort(-predictions.loss, kind="stable")[:MAX_WORST]
    keys = next((c.name for c in table.schema if c.identifier), "")
    labels = table.target.classes
    found = []
    for i in order:
        row = int(predictions.rows[i])
        y, is_time = float(table.y[row]), table.target.kind == "survival"
        facts: dict[str, Any] = {
            "row": int(table.rows[row]),
            "key": str(table.frame[keys][row].as_py()) if keys else "",
            "nats": float(predictions.loss[i]),
            "values": {
                c: shown(table.frame[c][row].as_py()) for c in important[:MAX_VALUES]
            },
        }
        if predictions.probs is None:
            facts |= {
                "true": shown_time(y) if is_time else y,
                "predicted": float(predictions.quantiles[i, MIDDLE]),
                "probability": None,
                "low": float(covered["low"][i]),
                "high": float(covered["high"][i]),
            }
        else:
            code, probs = int(table.y[row]), covered["probs"][i]
            facts |= {
                "true": labels[code],
                "predicted": labels[int(probs.argmax())],
                "probability": float(probs[code]),
                "low": None,
                "high": None,
            }
        found.append(RowError(**facts))
    return tuple(found)
