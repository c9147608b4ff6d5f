"""`likely predict`: a saved model on new rows."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.files import load
from likely.workbench.model import TableModel
from likely.workbench.table import read

MODEL_FILE = "model.likely"


def predictions(model: Path, data: str, coverage: float, as_json: bool) -> str:
    """Predictions of every row, as CSV or JSON."""
    found = _model(model)
    _, frame, _ = read(data)
    columns = _columns(found, frame, coverage)
    if as_json:
        return json.dumps(columns, indent=1) + "\n"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


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
    if not model.target.is_class:
        low, high = model.predict_interval(frame, coverage)
        numbers = {"mean": model.predict(frame), "low": low, "high": high}
        return {name: [_number(v) for v in values] for name, values in numbers.items()}
    labels = np.asarray(model.target.classes, dtype=object)
    probs, sets = model.predict_proba(frame), model.predict_set(frame, coverage)
    columns: dict[str, list] = {"predicted": labels[probs.argmax(1)].tolist()}
    for j, label in enumerate(labels):
        columns[f"p({label})"] = [_number(p) for p in probs[:, j]]
    columns["set"] = ["|".join(labels[row]) for row in sets]
    return columns


def _number(value: float) -> float:
    return float(f"{value:.8g}")
