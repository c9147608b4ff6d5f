"""The result of a run: sentences to read, data to parse, a model to deploy."""

import csv
import dataclasses
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.model import TableModel
from likely.workbench.report.contents import Report
from likely.workbench.report.verdict import ladder_rows, verdict
from likely.workbench.table import Table


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a run.

    Attributes:
        report: all results as typed data; the content of `report.json`.
        model: the best model, fitted to all rows and recalibrated.
        table: the rows.
        held_out: the held-out predictions of each model.
        covered: the intervals or sets of the best model for held-out rows.
        seconds: how long each model took.
    """

    report: Report
    model: TableModel
    table: Table
    held_out: dict[str, HeldOutPredictions]
    covered: dict[str, Any]
    seconds: dict[str, float]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The comparison as a table: one row for each model."""
        return ladder_rows(self.report)

    @property
    def verdict(self) -> list[str]:
        """Sentences: what to know first, which model is best, how good it is."""
        return verdict(self.report)

    def __repr__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        from likely.workbench.report import fragment

        return fragment(self.report)

    def to_json(self) -> str:
        """The report as JSON; the same run gives the same bytes."""
        return self.report.to_json()

    def card(self) -> dict[str, Any]:
        """The content of the model card."""
        report, winner = self.report, self.report.winner
        return {
            "target": report.target.name,
            "family": report.target.family,
            "model": winner.label,
            "data": f"{report.data.name}, {report.data.rows} rows",
            "scores": {"nats": winner.nats, **winner.scores},
            "coverage": winner.coverage,
            "seed": report.spec.seed,
            "limits": [finding.text for finding in report.findings],
        }

    def predictions_csv(self) -> str:
        """Held-out predictions of the best model as CSV, with intervals or sets."""
        predictions = self.held_out[self.report.winner.name]
        table, rows, covered = self.table, predictions.rows, self.covered
        columns: dict[str, np.ndarray] = {"row": table.rows[rows]}
        keys = next((c.name for c in table.schema if c.identifier), "")
        if keys and keys not in ("fold", "y", "mean"):
            values = table.frame[keys].to_pylist()
            columns[keys] = np.array([values[row] for row in rows], dtype=object)
        columns["fold"] = table.folds.numbers[rows]
        if predictions.probs is None:
            if table.target.event:
                columns |= {"y": np.abs(table.y[rows]), "median": predictions.mean}
                columns["event"] = (table.y[rows] > 0).astype(int)
            else:
                columns |= {"y": table.y[rows], "mean": predictions.mean}
            columns |= {"low": covered["low"], "high": covered["high"]}
        else:
            labels = np.asarray(table.target.classes, dtype=object)
            columns["y"] = labels[table.y[rows].astype(int)]
            columns |= class_columns(labels, covered["probs"], covered["sets"])
        columns["nats"] = np.array([*map(repr, predictions.loss.tolist())], object)
        if (table.w != 1).any():
            columns["weight"] = table.w[rows]
        return csv_text(rounded(columns, lambda value: f"{value:.6g}"))


def class_columns(
    labels: np.ndarray, probs: np.ndarray, sets: np.ndarray
) -> dict[str, np.ndarray]:
    """Predictions of classes as columns: the label, the probabilities, and the set."""
    return {
        "predicted": labels[probs.argmax(1)],
        **{f"p({label})": p for label, p in zip(labels, probs.T, strict=True)},
        "set": np.array(["|".join(labels[row]) for row in sets], dtype=object),
    }


def rounded(
    columns: dict[str, np.ndarray], shown: Callable[[float], Any]
) -> dict[str, list]:
    """The columns as lists, with each fraction as it is to be shown."""
    return {
        name: [*map(shown, values)] if values.dtype.kind == "f" else values.tolist()
        for name, values in columns.items()
    }


def csv_text(columns: dict[str, list]) -> str:
    """Columns as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()
