r"""Which columns matter, and how: asked of models about rows they did not see.

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

from likely.data.columns import as_levels, as_moments, as_numbers
from likely.data.schema import Column
from likely.evaluate import mean_score
from likely.selection.importance import loss_increases
from likely.workbench.candidate import Candidate
from likely.workbench.ladder import KEPT_FOLDS, Event, Ladder

JUDGED, AVERAGED, SHOWN, POINTS, SHUFFLES = 1000, 100, 6, 15, 2


class ColumnImportance(NamedTuple):
    """Nats lost without the column."""

    column: str
    nats: float
    error: float


class Effect(NamedTuple):
    """The mean prediction along a column."""

    column: str
    kind: str
    values: list[Any]
    """Numbers, ISO dates, or words."""
    means: Float[np.ndarray, "v c"]
    """Of the prediction, or of the probability of each class."""
    errors: Float[np.ndarray, "v c"]
    """The spread over folds."""


def importances(ladder: Ladder, name: str) -> list[ColumnImportance]:
    """Of every column that is used, the most important first."""
    table = ladder.table
    k = min(KEPT_FOLDS, len(table.folds.train))
    found: dict[str, list[np.ndarray]] = {c.name: [] for c in table.schema if c.used}
    weights = []
    for number in range(k):
        ladder.tell(
            Event("stage", text=f"importance of columns, fold {number + 1} of {k}")
        )
        model, fold = ladder.of_fold(name, number), ladder.fold(number)
        rows = fold.test[: -(-JUDGED // k)]
        frame, y = fold.rows(rows), table.y[rows]
        more = loss_increases(
            partial(_losses, model, y=y), frame, list(found), _shuffled,
            repeats=SHUFFLES, random_state=[ladder.spec.seed, number],
        )  # fmt: skip
        for gaps, gap in zip(found.values(), more.mean(axis=1), strict=True):
            gaps.append(gap)
        weights.append(table.w[rows])
    w = np.concatenate(weights)
    scores = {c: mean_score(np.concatenate(g), w) for c, g in found.items()}
    order = sorted(scores, key=lambda c: -scores[c].value)
    return [ColumnImportance(c, *scores[c]) for c in order]


def _shuffled(frame: pa.Table, column: str, order: np.ndarray) -> pa.Table:
    place = frame.column_names.index(column)
    field = frame.schema.field(place)
    return frame.set_column(place, field, frame.column(place).take(pa.array(order)))


def _losses(model: Candidate, frame: pa.Table, y: np.ndarray) -> np.ndarray:
    return np.minimum(-model.predict_dist(frame).log_prob(y), 30.0)


def effects(ladder: Ladder, name: str, columns: list[str]) -> list[Effect]:
    """Of the first few columns."""
    table = ladder.table
    k = min(KEPT_FOLDS, len(table.folds.train))
    rng = np.random.default_rng(ladder.spec.seed)
    rows = np.sort(rng.permutation(len(table))[:AVERAGED])
    frame = table.frame.take(pa.array(rows))
    models = [ladder.of_fold(name, number) for number in range(k)]
    found = []
    for column in columns[:SHOWN]:
        ladder.tell(Event("stage", text=f"effect of {column}"))
        values, at = _grid(table.frame, table.schema[column])
        wide = pa.concat_tables([at(frame, value) for value in values])
        curves = [_curve(model, wide, len(values), table.target) for model in models]
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


def _curve(model: Candidate, wide: pa.Table, points: int, target: Any) -> np.ndarray:
    dist = model.predict_dist(wide)
    if target.is_class:
        return np.asarray(dist.probs).reshape(points, -1, len(target.classes)).mean(1)
    middle = dist.quantile(0.5) if target.kind == "positive" else dist.mean
    return np.asarray(middle, float).reshape(points, -1).mean(1)[:, None]


def _grid(
    frame: pa.Table, column: Column
) -> tuple[list, Callable[[pa.Table, Any], Any]]:
    """Values of a column, and what sets them in a table."""
    place = frame.column_names.index(column.name)
    field = frame.schema.field(place)

    def put(rows: pa.Table, value: Any) -> pa.Table:
        kind = (
            field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        )
        same = pa.array([value] * len(rows), kind)
        return rows.set_column(place, pa.field(column.name, kind), same)

    if column.kind in ("category", "code"):
        levels = as_levels(frame.column(place), column.name)
        counts = np.bincount(
            levels.codes[levels.codes >= 0], minlength=len(levels.words)
        )
        common = np.argsort(-counts, kind="stable")[:POINTS]
        codes = [
            int(np.argmax(levels.codes == c)) for c in np.sort(common) if counts[c]
        ]
        return [frame.column(place)[c].as_py() for c in codes], put
    if column.kind == "boolean":
        present = frame.column(place).drop_null().unique().to_pylist()
        return sorted(present, key=str), put
    if column.kind == "date":
        moments = as_moments(frame.column(place), column.name)
        moments = np.sort(moments[~np.isnat(moments)])
    else:
        moments = as_numbers(frame.column(place), column.name)
        moments = np.sort(moments[~np.isnan(moments)])
    picks = np.linspace(0.02, 0.98, POINTS) * (len(moments) - 1)
    values = np.unique(moments[picks.round().astype(int)])
    if column.kind == "date":
        return [v.item() for v in values.astype("datetime64[us]")], put
    if pa.types.is_integer(field.type):
        return [int(v) for v in values], put
    return [float(v) for v in values], put


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
