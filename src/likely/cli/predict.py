"""`likely predict`: a saved model on new rows."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from likely.cli.fit import STDIN
from likely.core.checks import InputError
from likely.data import registry
from likely.data.schema import unknown_column
from likely.files import load
from likely.workbench.explanations import explain
from likely.workbench.model import TableModel
from likely.workbench.result import class_columns, csv_text, rounded
from likely.workbench.table import read

MODEL_FILE = "model.likely"


def predictions(
    model: Path,
    data: str,
    coverage: float,
    *,
    key: str = "",
    explained: bool = False,
    as_json: bool = False,
) -> str:
    """Predictions of every row, as CSV or JSON.

    Args:
        model: the file of a model, or the folder of a run.
        data: a file, "-" for stdin, or the name of a data set.
        coverage: of intervals and sets.
        key: the column of the new rows that names them.
        explained: whether the columns that matter for each row are told.
        as_json: JSON instead of CSV.
    """
    found = _model(model)
    source = sys.stdin.buffer.read() if data == STDIN else data
    rows = _rows(found, source)
    columns = _columns(found, rows, coverage)
    unseen = found.unseen(rows)
    if unseen:
        columns["unseen"] = _named(unseen)
        for name, mask in unseen.items():
            if mask.any():
                print(unseen_sentence(name, int(mask.sum())), file=sys.stderr)
    if explained:
        columns["because"] = explain(found, rows).sentences()
    name, keys = _keys(found, source, key, len(rows))
    columns = {name if name not in columns else "key": keys, **columns}
    if as_json:
        return json.dumps(columns, indent=1) + "\n"
    return csv_text(columns)


def unseen_sentence(name: str, count: int) -> str:
    """How many rows have an unseen level, and what their predictions are."""
    rows = "1 row has" if count == 1 else f"{count:,} rows have"
    its = "its prediction averages" if count == 1 else "their predictions average"
    return (
        f"{rows} a value of {name!r} that the model has not seen: {its} over known ones, with "
        "wider intervals."
    )


def _named(unseen: dict[str, np.ndarray]) -> list[str]:
    """The columns of each row in which it has an unseen level."""
    rows = zip(*unseen.values(), strict=True)
    return [", ".join(n for n, u in zip(unseen, row, strict=True) if u) for row in rows]


def _rows(model: TableModel, data: Any) -> Any:
    """The rows of a file, each cell read as in the file that the model was fitted to."""
    if data in registry.SETS and not Path(str(data)).exists():
        return read(data).frame
    return model.read(data)


def _keys(model: TableModel, data: Any, key: str, n: int) -> tuple[str, list]:
    """What names the new rows: a column that was asked for, an identifier, or numbers."""
    encoder = next(iter(model.encoders.values()))
    known = [column.name for column in encoder.schema_ if column.identifier]
    if key or known:
        frame = read(data).frame
        names = frame.column_names
        if key and key not in names:
            raise InputError(unknown_column(key, names))
        name = key or next((name for name in known if name in names), "")
        if name and len(frame) == n:
            return name, [_text(value) for value in frame[name].to_pylist()]
    return "row", list(range(n))


def _text(value: Any) -> Any:
    """A key as JSON and CSV have it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _model(path: Path) -> TableModel:
    candidates = (path, path / MODEL_FILE, path / "model" / MODEL_FILE)
    file = next((p for p in candidates if p.is_file()), None)
    if file is None:
        raise InputError(f"{path} is no model: there is no {MODEL_FILE} there.")
    found = load(file)
    if not isinstance(found, TableModel):
        raise InputError(
            f"{file} holds a {type(found).__name__}, which takes arrays; use it from Python."
        )
    return found


def _columns(model: TableModel, frame: Any, coverage: float) -> dict[str, list]:
    if model.target.is_class:
        labels = np.asarray(model.target.classes, dtype=object)
        sets = model.predict_set(frame, coverage)
        columns = class_columns(labels, model.predict_proba(frame), sets)
    else:
        low, high = model.predict_interval(frame, coverage)
        if model.target.kind == "survival":
            columns = {"median": model.predict(frame), "low": low, "high": high}
            chances = model.predict_survival(frame).T
            for time, p in zip(model.target.times, chances, strict=True):
                columns[f"p(later than {time:g})"] = p
            return rounded(columns, lambda value: float(f"{value:.8g}"))
        columns = {"mean": model.predict(frame), "low": low, "high": high}
    return rounded(columns, lambda value: float(f"{value:.8g}"))
