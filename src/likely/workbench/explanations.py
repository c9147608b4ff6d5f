r"""Why a row is predicted as it is: what each column changes.

The contribution of a column is the prediction minus that of the same row with the average
in its place: the mean of a number, the average over the known levels of a category, no word of
a text. In a
linear model it is exactly $b_j (x_j - \bar x_j)$; in others contributions need not add up.
For classes it is a change of the probability of the predicted class.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from likely.core.written_numbers import number, shown
from likely.data.columns import as_timestamps
from likely.data.frames import encode_text
from likely.data.schema import Column
from likely.evaluate import temperature_scaled
from likely.workbench.model import TableModel

BLOCK = 2000
"""How many rows are explained at a time."""
UNSEEN = "\x00"
"""A level that no table has: models average over the known levels in its place."""
TOP = 3
"""How many contributions of a row are told."""
MIN_SHARE = 1e-3
"""Contributions that are so much smaller than the largest are not told."""


class Explanations(NamedTuple):
    """The contributions of columns to the predictions of rows."""

    columns: tuple[str, ...]
    contributions: Float[np.ndarray, "n d"]
    """In units of the target, or for classes as probabilities of the predicted class."""
    cells: tuple[tuple[str, ...], ...]
    """The values of each row, as text."""

    def sentences(self, top: int = TOP) -> list[str]:
        """The largest contributions of each row: "area = 120 (+34.5), town = Bern (-2.1)"."""
        found = []
        for row, cells in zip(self.contributions, self.cells, strict=True):
            order = np.argsort(-np.abs(row), kind="stable")[:top]
            parts = [
                f"{self.columns[j]} = {cells[j]} ({'+' if row[j] > 0 else ''}{number(row[j])})"
                for j in order
                if abs(row[j]) > MIN_SHARE * np.abs(row).max()
            ]
            found.append(", ".join(parts))
        return found


def explain(model: TableModel, frame: Any) -> Explanations:
    """What each column contributes to the prediction of each row.

    Args:
        model: what a run saved.
        frame: new rows: a frame, or a file.

    Example:
        ```python
        found = explain(result.model, frame)
        found.sentences()
        ```
    """
    table = encode_text(model.read(frame))
    encoder = next(iter(model.encoders.values()))
    columns = [c for c in encoder.schema_ if c.used or c.name in model.texts]
    parts = [
        _block(model, table.slice(first, BLOCK), columns)
        for first in range(0, len(table), BLOCK)
    ]
    cells = [[shown(v) for v in table[c.name].to_pylist()] for c in columns]
    return Explanations(
        tuple(column.name for column in columns),
        np.concatenate(parts) if parts else np.zeros((0, len(columns))),
        tuple(zip(*cells, strict=True)),
    )


def _block(model: TableModel, table: pa.Table, columns: list[Column]) -> np.ndarray:
    full = _predicted(model, table)
    chosen = None
    if model.target.is_class:
        chosen = full.argmax(1)
        full = full[np.arange(len(table)), chosen]
    found = np.empty((len(table), len(columns)))
    for j, column in enumerate(columns):
        without = 0.0
        for value, share in _averages(model, column):
            copy = _filled(table, column.name, value)
            predicted = _predicted(model, copy)
            if chosen is not None:
                predicted = predicted[np.arange(len(table)), chosen]
            without = without + share * predicted
        found[:, j] = full - without
    return found


def _predicted(model: TableModel, table: pa.Table) -> np.ndarray:
    """The means, or the recalibrated probabilities of classes."""
    mixture = model.mixture()
    if model.target.is_class:
        probs = mixture.predict_dist(table).probs
        return temperature_scaled(probs, model.temperature)
    return np.asarray(mixture.predict_both(table)[1], float)


def _averages(model: TableModel, column: Column) -> list[tuple[Any, float]]:
    """The values that stand for the average of a column, with their shares."""
    encoder = next(iter(model.encoders.values()))
    if column.name in encoder.numbers_:
        mean = float(encoder.fill_[encoder.numbers_.index(column.name)])
        if column.kind == "boolean":
            return [(False, 1 - mean), (True, mean)]
        return [(mean, 1.0)]
    if column.name in encoder.dates_:
        ends = as_timestamps(pa.array([str(column.low), str(column.high)]), column.name)
        middle = ends[0] + (ends[1] - ends[0]) // 2
        return [(middle, 1.0)]
    if column.name in model.texts:
        return [("", 1.0)]
    known = getattr(model, "known", None) is not None or not column.examples
    return [(UNSEEN if known else column.examples[0], 1.0)]


def _filled(table: pa.Table, name: str, value: Any) -> pa.Table:
    """The rows with one value in every row of a column."""
    index = table.column_names.index(name)
    values = pa.array([value] * len(table))
    return table.set_column(index, name, values)
