"""`likely predict`: a saved model on new rows."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.data import registry
from likely.files import load
from likely.workbench.model import TableModel
from likely.workbench.result import class_columns, csv_text, rounded
from likely.workbench.table import read

MODEL_FILE = "model.likely"


def predictions(model: Path, data: str, coverage: float, as_json: bool) -> str:
    """Predictions of every row, as CSV or JSON."""
    found = _model(model)
    columns = _columns(found, _rows(found, data), coverage)
    if as_json:
        return json.dumps(columns, indent=1) + "\n"
    return csv_text(columns)


def _rows(model: TableModel, data: str) -> Any:
    """The rows of a file, each cell read as in the file that the model was fitted to."""
    if data in registry.SETS and not Path(data).exists():
        return read(data).frame
    return model.read(data)


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
        columns = {"mean": model.predict(frame), "low": low, "high": high}
    return rounded(columns, lambda value: float(f"{value:.8g}"))
