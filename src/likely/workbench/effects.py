r"""Importances and effects of columns, measured on held-out rows.

A column's importance is the nats lost when its values are shuffled among the rows,
$\frac1n \sum_i [l_i(\text{shuffled}) - l_i]$, with its standard error; its effect is the mean
prediction over rows when the column is set to one value after another, and the spread
of that over models fitted to different folds.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.data.columns import as_levels, as_numbers, as_timestamps
from likely.evaluate import mean_score
from likely.selection.importance import most_important
from likely.workbench.candidates import TEXT
from likely.workbench.fitted import EncodedRows, FittedMixture
from likely.workbench.ladder import KEPT_FOLDS, Event, Ladder

IMPORTANCE_ROWS = 1000
"""The number of held-out rows by which importances are measured."""
MAX_EFFECTS, MAX_VALUES = 6, 15
"""The number of effects, and of values along a column."""
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
    """The importance of the columns that are used, the largest first.

    Of more columns than the plan allows, those that matter most are searched for by
    shuffling groups of columns.
    """
    table, plan = ladder.table, ladder.plan
    columns = [c.name for c in table.schema if c.used]
    columns += plan.texts if TEXT.name in ladder.parts_of(name) else ()
    size = plan.importances(len(columns), ladder.parts_of(name))
    k = min(size.folds, KEPT_FOLDS, ladder.n_folds)
    folds = []
    for number in range(k):
        model, fold = ladder.of_fold(name, number), ladder.fold(number)
        rows = fold.test[: -(-IMPORTANCE_ROWS // KEPT_FOLDS)]
        folds.append(_Shuffler(model, fold.rows(rows), columns, table.y[rows]))
        folds[-1].weights = table.w[rows]
    told = Event("stage", text="importance of columns")

    def increase(group: tuple[int, ...]) -> np.ndarray:
        ladder.notify(told)
        seeds = [[ladder.spec.seed, number] for number in range(k)]
        pairs = zip(folds, seeds, strict=True)
        return np.concatenate([f.increase(group, s, size.shuffles) for f, s in pairs])

    found = most_important(increase, len(columns), size.evaluations)
    w = np.concatenate([fold.weights for fold in folds])
    scores = {columns[j]: mean_score(gaps, w) for j, gaps in found.items()}
    order = sorted(scores, key=lambda c: -scores[c].value)
    return [ColumnImportance(c, *scores[c]) for c in order]


class _Shuffler:
    """Held-out rows of a fold, encoded once, of which columns are shuffled."""

    def __init__(
        self, model: FittedMixture, frame: pa.Table, columns: list[str], y: np.ndarray
    ):
        self.model, self.y, self.columns = model, y, columns
        self.rows = model.encoded(frame)
        self.places = {name: e.encoder.places() for name, e in self.rows.items()}
        self.before = self._losses(self.rows)
        self.weights = np.ones(len(y))

    def increase(
        self, group: tuple[int, ...], seed: list[int], repeats: int
    ) -> Float[np.ndarray, " n"]:
        """The increase of each row's loss, averaged over shuffles of the columns."""
        found = []
        for r in range(repeats):
            rng = np.random.default_rng([*seed, group[0], r])
            order = rng.permutation(len(self.y))
            names = [self.columns[j] for j in group]
            rows = {
                encoding: with_columns(rows, rows, order, self.places[encoding], names)
                for encoding, rows in self.rows.items()
            }
            found.append(self._losses(rows) - self.before)
        return np.mean(found, axis=0)

    def _losses(self, rows: dict[str, EncodedRows]) -> Float[np.ndarray, " n"]:
        dist = self.model.predict_encoded(rows)
        return np.minimum(-dist.log_prob(self.y), MAX_LOSS)


def with_columns(
    rows: EncodedRows,
    others: EncodedRows,
    order: Any,
    places: dict[str, list[int]],
    columns: list[str],
) -> EncodedRows:
    """Encoded rows with the values that other rows have in some columns.

    Args:
        rows: encoded rows.
        others: rows of the same encoder.
        order: for each row, the number of the other row that it gets the values of.
        places: the encoded columns of each column.
        columns: the columns.
    """
    X, codes = rows.X.copy(), rows.codes.copy()
    where = [j for column in columns for j in places.get(column, [])]
    words = [j for j, word in enumerate(rows.encoder.words_) if word in set(columns)]
    X[:, where] = others.X[np.ix_(order, where)]
    codes[:, words] = others.codes[np.ix_(order, words)]
    return rows._replace(X=X, codes=codes)


def effects(ladder: Ladder, name: str, columns: list[str]) -> list[Effect]:
    """The effects of the first few columns."""
    table = ladder.table
    k = min(KEPT_FOLDS, ladder.n_folds)
    columns = columns[:MAX_EFFECTS]
    parts = ladder.parts_of(name)
    most = ladder.plan.effects(len(columns), k * MAX_VALUES, parts)
    rng = np.random.default_rng(ladder.spec.seed)
    rows = np.sort(rng.permutation(len(table))[:most])
    frame = table.frame.take(pa.array(rows))
    models = [ladder.of_fold(name, number) for number in range(k)]
    encoded = [model.encoded(frame) for model in models]
    found = []
    for column in columns:
        ladder.notify(Event("stage", text=f"effect of {column}"))
        kind = table.schema[column].kind
        values = _grid(table.frame[column], column, kind)
        # as many for each column, so that one program predicts all
        padded = values + values[-1:] * (MAX_VALUES - len(values))
        some = frame.take(pa.array(np.zeros(len(padded), int)))
        some = _filled(some, column, padded)
        pairs = zip(models, encoded, strict=True)
        curves = [_curve(m, own, some, column, table.target) for m, own in pairs]
        curves = [curve[: len(values)] for curve in curves]
        spread = np.std(curves, axis=0, ddof=1) if k > 1 else 0 * curves[0]
        found.append(Effect(column, kind, values, np.mean(curves, axis=0), spread))
    return found


def _curve(
    model: FittedMixture,
    rows: dict[str, EncodedRows],
    values: pa.Table,
    column: str,
    target: Any,
) -> np.ndarray:
    """(v, c) mean predictions of rows, all with the first value of a column, and so on.

    Args:
        model: the model.
        rows: encoded rows.
        values: a table with a row for each value of the column.
        column: the column.
        target: what is predicted.
    """
    points, copies = len(values), {}
    for encoding, given in model.encoded(values).items():
        own = rows[encoding]
        X, codes = np.tile(own.X, (points, 1)), np.tile(own.codes, (points, 1))
        order = np.repeat(np.arange(points), len(own.X))
        places = own.encoder.places()
        tiled = own._replace(X=X, codes=codes)
        copies[encoding] = with_columns(tiled, given, order, places, [column])
    dist = model.predict_encoded(copies)
    if target.is_class:
        return np.asarray(dist.probs).reshape(points, -1, len(target.classes)).mean(1)
    center = (
        dist.quantile(0.5) if target.kind in ("positive", "survival") else dist.mean
    )
    return np.asarray(center, float).reshape(points, -1).mean(1)[:, None]


def _filled(frame: pa.Table, column: str, values: list[Any]) -> pa.Table:
    """The rows with other values in a column."""
    index = frame.column_names.index(column)
    kind = frame[column].type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return frame.set_column(index, column, pa.array(values, kind))


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
