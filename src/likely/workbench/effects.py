r"""Importances and effects of columns, measured on held-out rows.

A column's importance is the nats lost when its values are shuffled among the rows,
$\frac1n \sum_i [l_i(\text{shuffled}) - l_i]$, with its standard error; its effect is the mean
prediction over rows when the column is set to one value after another, and the spread
of that over models fitted to different folds.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.data.columns import as_levels, as_numbers, as_timestamps
from likely.evaluate import mean_score
from likely.selection.importance import loss_increases
from likely.workbench.fitted import FittedMixture
from likely.workbench.ladder import KEPT_FOLDS, Event, Ladder

IMPORTANCE_ROWS, SHUFFLES = 1000, 2
"""The number of held-out rows, and how often a column is shuffled, for importances."""
EFFECT_ROWS, MAX_EFFECTS, MAX_VALUES = 100, 6, 15
"""The number of rows that effects average, of effects, and of values along a column."""
MAX_LOSS = 30.0
"""The largest loss of a row, in nats, so that a single row does not decide."""


class ColumnImportance(NamedTuple):
    """The nats lost when a column is shuffled, with the standard error."""

    column: str
    nats: float
    error: float


class Effect(NamedTuple):
    """The mean prediction along the values of a column."""

    column: str
    kind: str
    values: list[Any]
    """Numbers, dates, or categories."""
    means: Float[np.ndarray, "v c"]
    """Means of the prediction, or of the probability of each class."""
    errors: Float[np.ndarray, "v c"]
    """The spread over folds."""


def importances(ladder: Ladder, name: str) -> list[ColumnImportance]:
    """The importance of every column that is used, the largest first."""
    table = ladder.table
    k = min(KEPT_FOLDS, len(table.folds.train))
    found: dict[str, list[np.ndarray]] = {c.name: [] for c in table.schema if c.used}
    weights = []
    for number in range(k):
        ladder.notify(
            Event("stage", text=f"importance of columns, fold {number + 1} of {k}")
        )
        model, fold = ladder.of_fold(name, number), ladder.fold(number)
        rows = fold.test[: -(-IMPORTANCE_ROWS // k)]
        frame, y = fold.rows(rows), table.y[rows]
        increases = loss_increases(
            partial(_losses, model, y=y), frame, list(found), _shuffled,
            repeats=SHUFFLES, random_state=[ladder.spec.seed, number],
        )  # fmt: skip
        for gaps, gap in zip(found.values(), increases.mean(axis=1), strict=True):
            gaps.append(gap)
        weights.append(table.w[rows])
    w = np.concatenate(weights)
    scores = {c: mean_score(np.concatenate(g), w) for c, g in found.items()}
    order = sorted(scores, key=lambda c: -scores[c].value)
    return [ColumnImportance(c, *scores[c]) for c in order]


def _shuffled(frame: pa.Table, column: str, order: np.ndarray) -> pa.Table:
    index = frame.column_names.index(column)
    return frame.set_column(index, column, frame[column].take(pa.array(order)))


def _losses(model: FittedMixture, frame: pa.Table, y: np.ndarray) -> np.ndarray:
    return np.minimum(-model.predict_dist(frame).log_prob(y), MAX_LOSS)


def effects(ladder: Ladder, name: str, columns: list[str]) -> list[Effect]:
    """The effects of the first few columns."""
    table = ladder.table
    k = min(KEPT_FOLDS, len(table.folds.train))
    rng = np.random.default_rng(ladder.spec.seed)
    rows = np.sort(rng.permutation(len(table))[:EFFECT_ROWS])
    frame = table.frame.take(pa.array(rows))
    models = [ladder.of_fold(name, number) for number in range(k)]
    found = []
    for column in columns[:MAX_EFFECTS]:
        ladder.notify(Event("stage", text=f"effect of {column}"))
        kind = table.schema[column].kind
        values = _grid(table.frame[column], column, kind)
        copies = pa.concat_tables([_filled(frame, column, value) for value in values])
        curves = [_curve(model, copies, len(values), table.target) for model in models]
        spread = np.std(curves, axis=0, ddof=1) if k > 1 else 0 * curves[0]
        found.append(Effect(column, kind, values, np.mean(curves, axis=0), spread))
    return found


def _curve(
    model: FittedMixture, copies: pa.Table, points: int, target: Any
) -> np.ndarray:
    """(points, c) mean predictions of copies of the rows, one copy for each value."""
    dist = model.predict_dist(copies)
    if target.is_class:
        return np.asarray(dist.probs).reshape(points, -1, len(target.classes)).mean(1)
    center = dist.quantile(0.5) if target.kind == "positive" else dist.mean
    return np.asarray(center, float).reshape(points, -1).mean(1)[:, None]


def _filled(frame: pa.Table, column: str, value: Any) -> pa.Table:
    """The rows with the same value in every row of a column."""
    index = frame.column_names.index(column)
    kind = frame[column].type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return frame.set_column(index, column, pa.array([value] * len(frame), kind))


def _grid(values: pa.ChunkedArray, name: str, kind: str) -> list:
    """Some values of a column: common categories, or quantiles of numbers and dates."""
    if kind in ("category", "code"):
        codes, categories = as_levels(values, name)
        counts = np.bincount(codes[codes >= 0], minlength=len(categories))
        common = np.sort(np.argsort(-counts, kind="stable")[:MAX_VALUES])
        rows = [int(np.argmax(codes == c)) for c in common if counts[c]]
        return [values[row].as_py() for row in rows]
    if kind == "boolean":
        return sorted(values.drop_null().unique().to_pylist(), key=str)
    present = (as_timestamps if kind == "date" else as_numbers)(values, name)
    present = np.sort(present[~np.isnan(present)])
    picks = np.linspace(0.02, 0.98, MAX_VALUES) * (len(present) - 1)
    picked = np.unique(present[picks.round().astype(int)])
    return (picked.astype(int) if pa.types.is_integer(values.type) else picked).tolist()
