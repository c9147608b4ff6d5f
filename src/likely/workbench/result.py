"""The result of a run: sentences to read, data to parse, a model to deploy."""

import csv
import dataclasses
import io
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from likely.workbench.candidates import STACK
from likely.workbench.held_out import HeldOutPredictions
from likely.workbench.model import TableModel
from likely.workbench.table import Table

SHOWN_SCORES = ("rmse", "mae", "r2", "accuracy", "brier", "auc")
"""The scores that are printed in a terminal."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a run.

    Attributes:
        report: all results as plain data; the content of `report.json`.
        model: the best model, fitted to all rows and recalibrated.
        table: the rows.
        held_out: the held-out predictions of each model.
        covered: the intervals or sets of the best model for held-out rows.
        seconds: how long each model took.
    """

    report: dict[str, Any]
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
        """Three sentences: which model is best, how good it is, what its intervals cover."""
        return verdict(self.report)

    def __repr__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        from likely.workbench.report import fragment

        return fragment(self)

    def to_json(self) -> str:
        """The report as JSON; the same run gives the same bytes."""
        return json.dumps(self.report, indent=1, ensure_ascii=False) + "\n"

    def card(self) -> dict[str, Any]:
        """The content of the model card."""
        winner = self.report["winner"]
        return {
            "target": self.report["target"]["name"],
            "family": self.report["target"]["family"],
            "model": winner["label"],
            "data": f"{self.report['data']['name']}, {self.report['data']['rows']} rows",
            "scores": {"nats": winner["nats"], **winner["scores"]},
            "coverage": winner["coverage"],
            "seed": self.report["spec"]["seed"],
            "limits": [f["text"] for f in self.report["findings"]],
        }

    def predictions_csv(self) -> str:
        """Held-out predictions of the best model as CSV, with intervals or sets."""
        predictions = self.held_out[self.report["winner"]["name"]]
        table, rows, covered = self.table, predictions.rows, self.covered
        columns = {"row": table.rows[rows], "fold": table.folds.numbers[rows]}
        if predictions.probs is None:
            columns |= {"y": table.y[rows], "mean": predictions.mean}
            columns |= {"low": covered["low"], "high": covered["high"]}
        else:
            labels = np.asarray(table.target.classes, dtype=object)
            columns["y"] = labels[table.y[rows].astype(int)]
            columns |= class_columns(labels, covered["probs"], covered["sets"])
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


def ladder_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The comparison in a report as a table: one row for each model."""
    scores = list(report["ladder"][0]["scores"])
    return [
        {
            "model": row["label"],
            "nats": row["nats"],
            "±": row["error"],
            "gain": row["gain"],
            "gain ±": row["gain_error"],
            **{name: row["scores"][name] for name in scores},
        }
        for row in report["ladder"]
    ]


def compact(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The comparison as text for narrow terminals: each number with its error."""
    return [
        {
            "model": row["model"],
            "nats": with_error(row["nats"], row.get("±")),
            "gain": with_error(row.get("gain"), row.get("gain ±"), "+") if i else "",
            **{name: _short(row[name]) for name in row if name in SHOWN_SCORES},
        }
        for i, row in enumerate(rows)
    ]


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def with_error(value: float | None, error: float | None, sign: str = "") -> str:
    """A number with its error, rounded to two digits of the error."""
    if value is None:
        return ""
    if not error:
        return f"{value:{sign}.4g}"
    digits = min(max(1 - math.floor(math.log10(error)), 0), 4)
    if abs(value) >= 1e6:
        return f"{value:{sign}.4g} ± {error:.2g}"
    return f"{value:{sign}.{digits}f} ± {error:.{digits}f}"


def verdict(report: dict[str, Any]) -> list[str]:
    """Three sentences: which model is best, how good it is, what its intervals cover."""
    winner, ladder = report["winner"], report["ladder"]
    target = report["target"]["name"]
    gain, error = winner["gain_over_null"], winner["gain_over_null_error"]
    model = winner["label"]
    if winner["name"] == STACK:
        parts = sorted(winner["weights"].items(), key=lambda pair: -pair[1])[:3]
        labels = {row["name"]: row["label"] for row in ladder}
        mix = ", ".join(f"{100 * p:.0f} % {labels[n]}" for n, p in parts)
        model = f"a mixture ({mix})"
    first = f"Best of {len(ladder)} models of {target}: {model}"
    if winner["name"] == "null":
        first = f"No model predicts {target} better than its overall distribution"
    likelier = np.exp(min(gain, 50.0))
    second = (
        f"on held-out rows, the true value is {likelier:.3g} times as likely under it as "
        f"under the null model ({gain:.3f} ± {error:.3f} nats per row)"
    )
    scores = winner["scores"]
    if "accuracy" in scores:
        third = f"it is right in {100 * scores['accuracy']:.1f} % of rows, and its sets"
        kind = mean_size(winner["size"], " classes")
    else:
        third, r2 = "its intervals", scores["r2"]
        if r2 is not None:
            third = f"it explains {100 * r2:.0f} % of the variance, and {third}"
        kind = mean_size(winner["size"], " wide")
    asked, share = 100 * winner["coverage_asked"], 100 * winner["coverage"]
    third += f" of {asked:.0f} % cover {share:.1f} % of rows, {kind}"
    return [_sentence(s) for s in (first, second, third)]


def mean_size(size: float | None, unit: str) -> str:
    """The mean size of intervals or sets; with too few rows intervals are unbounded."""
    if size is None:
        return "unbounded, since there are too few rows"
    return f"{size:.4g}{unit} on average"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def plain(value: Any) -> Any:
    """A value as JSON has it: lists, numbers of twelve digits, null for NaN, ISO dates."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.12g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
