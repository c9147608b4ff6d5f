"""What a run found: to read, to parse, to deploy."""

import csv
import dataclasses
import io
import json
import math
from typing import Any

import numpy as np

from likely.workbench.held import Held
from likely.workbench.model import TableModel
from likely.workbench.rungs import STACK
from likely.workbench.table import Table

SHOWN = ("rmse", "mae", "r2", "accuracy", "brier", "auc")
"""Scores that fit on a terminal."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of a run.

    Attributes:
        report: everything that was found, as plain data; the content of `report.json`.
        model: the winner, fitted to all rows, recalibrated, ready for new ones.
        table: the rows.
        held: what each rung says about the rows it did not see.
        covered: the winner's intervals or sets of those rows.
        seconds: how long each rung took.
    """

    report: dict[str, Any]
    model: TableModel
    table: Table
    held: dict[str, Held]
    covered: dict[str, Any]
    seconds: dict[str, float]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The ladder as a table: one row a rung."""
        return ladder_rows(self.report)

    @property
    def verdict(self) -> list[str]:
        """Three sentences: which model, how good, how sure."""
        return verdict(self.report)

    def __repr__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        from likely.workbench.report import fragment

        return fragment(self)

    def to_json(self) -> str:
        """The report as text: the same run, the same bytes."""
        return json.dumps(self.report, indent=1, ensure_ascii=False) + "\n"

    def card(self) -> dict[str, Any]:
        """What a model card says of the winner."""
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
        """Out-of-fold predictions of the winner, with intervals or sets."""
        held = self.held[self.report["winner"]["name"]]
        table, out = self.table, io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        row, fold = table.rows[held.rows], _folds(table)[held.rows]
        y = table.y[held.rows]
        if held.probs is not None:
            labels = np.asarray(table.target.classes, dtype=object)
            probs, sets = self.covered["probs"], self.covered["sets"]
            writer.writerow(
                ["row", "fold", "y", "predicted", *(f"p({c})" for c in labels), "set"]
            )
            for i in range(len(y)):
                inside = "|".join(labels[sets[i]])
                chances = [f"{p:.6g}" for p in probs[i]]
                own, said = labels[int(y[i])], labels[probs[i].argmax()]
                writer.writerow([row[i], fold[i], own, said, *chances, inside])
            return out.getvalue()
        writer.writerow(["row", "fold", "y", "mean", "low", "high"])
        low, high = self.covered["low"], self.covered["high"]
        for i in range(len(y)):
            numbers = (y[i], held.mean[i], low[i], high[i])
            writer.writerow([row[i], fold[i], *(f"{v:.6g}" for v in numbers)])
        return out.getvalue()


def _folds(table: Table) -> np.ndarray:
    fold = np.full(len(table), -1)
    for number, weights in enumerate(table.folds.held_out):
        fold[weights > 0] = number
    return fold


def ladder_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The ladder of a report as a table."""
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
    """The ladder as text for narrow terminals: an error stands behind its number."""
    return [
        {
            "model": row["model"],
            "nats": with_error(row["nats"], row.get("±")),
            "gain": with_error(row.get("gain"), row.get("gain ±"), "+") if i else "",
            **{name: _short(value) for name, value in row.items() if name in SHOWN},
        }
        for i, row in enumerate(rows)
    ]


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def with_error(value: float | None, error: float | None, sign: str = "") -> str:
    """A number to the digits that its error leaves, and the error to two."""
    if value is None:
        return ""
    if not error:
        return f"{value:{sign}.4g}"
    digits = min(max(1 - math.floor(math.log10(error)), 0), 4)
    if abs(value) >= 1e6:
        return f"{value:{sign}.4g} ± {error:.2g}"
    return f"{value:{sign}.{digits}f} ± {error:.{digits}f}"


def verdict(report: dict[str, Any]) -> list[str]:
    """Three sentences: which model, how good, how sure."""
    winner, ladder = report["winner"], report["ladder"]
    target = report["target"]["name"]
    gain, error = winner["gain_over_null"], winner["gain_over_null_error"]
    said = winner["label"]
    if winner["name"] == STACK:
        parts = sorted(winner["weights"].items(), key=lambda pair: -pair[1])[:3]
        labels = {row["name"]: row["label"] for row in ladder}
        mix = ", ".join(f"{100 * p:.0f} % {labels[n]}" for n, p in parts)
        said = f"a mixture ({mix})"
    first = f"Best of {len(ladder)} models of {target}: {said}"
    if winner["name"] == "null":
        first = f"No model predicts {target} better than its overall distribution"
    likelier = np.exp(min(gain, 50.0))
    second = (
        f"on rows it did not see, the truth is {likelier:.3g} times as likely under it as "
        f"without any column ({gain:.3f} ± {error:.3f} nats a row)"
    )
    scores = winner["scores"]
    if "accuracy" in scores:
        third = f"it is right in {100 * scores['accuracy']:.1f} % of rows, and its sets"
        kind = mean_size(winner["size"], " classes")
    else:
        r2 = scores["r2"]
        told = (
            "" if r2 is None else f"it explains {100 * r2:.0f} % of the variance, and "
        )
        third = f"{told}its intervals"
        kind = mean_size(winner["size"], " wide")
    asked, share = 100 * winner["coverage_asked"], 100 * winner["coverage"]
    third += f" of {asked:.0f} % cover {share:.1f} % of rows, {kind}"
    return [_sentence(s) for s in (first, second, third)]


def mean_size(size: float | None, unit: str) -> str:
    """How large intervals or sets are; where rows are too few, intervals are unbounded."""
    return (
        "unbounded for want of rows" if size is None else f"{size:.4g}{unit} on average"
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def plain(value: Any) -> Any:
    """As JSON has it: lists, and numbers to twelve digits; not a number is null."""
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
    return value
