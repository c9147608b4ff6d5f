r"""Importances and effects of columns, measured on held-out rows.

A column's importance is the nats lost when its values are shuffled among the rows,
$\frac1n \sum_i [l_i(\text{shuffled}) - l_i]$, with its standard error; its effect is the mean
prediction over rows when the column is set to one value after another, and the spread
of that over models fitted to different folds.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.data.columns import as_levels, as_numbers, as_timestamps
from likely.data.schema import Column
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
    """Numbers, ISO dates, or categories."""
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
    field = frame.schema.field(index)
    return frame.set_column(index, field, frame.column(index).take(pa.array(order)))


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
        values, put = _grid(table.frame, table.schema[column])
        copies = pa.concat_tables([put(frame, value) for value in values])
        curves = [_curve(model, copies, len(values), table.target) for model in models]
        shown = [_plain(v) for v in values]
        found.append(
            Effect(
                column,
                table.schema[column].kind,
                shown,
                np.mean(curves, axis=0),
                np.std(curves, axis=0, ddof=1) if k > 1 else 0 * curves[0],
            )
        )
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


def _grid(
    frame: pa.Table, column: Column
) -> tuple[list, Callable[[pa.Table, Any], Any]]:
    """Some values of a column, and a function that sets the column to one of them."""
    index = frame.column_names.index(column.name)
    field = frame.schema.field(index)

    def put(rows: pa.Table, value: Any) -> pa.Table:
        kind = (
            field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        )
        same = pa.array([value] * len(rows), kind)
        return rows.set_column(index, pa.field(column.name, kind), same)

    if column.kind in ("category", "code"):
        levels = as_levels(frame.column(index), column.name)
        counts = np.bincount(
            levels.codes[levels.codes >= 0], minlength=len(levels.categories)
        )
        common = np.argsort(-counts, kind="stable")[:MAX_VALUES]
        codes = [
            int(np.argmax(levels.codes == c)) for c in np.sort(common) if counts[c]
        ]
        return [frame.column(index)[c].as_py() for c in codes], put
    if column.kind == "boolean":
        present = frame.column(index).drop_null().unique().to_pylist()
        return sorted(present, key=str), put
    if column.kind == "date":
        present = as_timestamps(frame.column(index), column.name)
        present = np.sort(present[~np.isnat(present)])
    else:
        present = as_numbers(frame.column(index), column.name)
        present = np.sort(present[~np.isnan(present)])
    picks = np.linspace(0.02, 0.98, MAX_VALUES) * (len(present) - 1)
    values = np.unique(present[picks.round().astype(int)])
    if column.kind == "date":
        return [v.item() for v in values.astype("datetime64[us]")], put
    if pa.types.is_integer(field.type):
        return [int(v) for v in values], put
    return [float(v) for v in values], put


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
