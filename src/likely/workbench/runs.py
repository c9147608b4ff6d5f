"""Finished runs side by side: scores, and differences on the same held-out rows.

Two runs on the same rows are compared row by row, which is much less noisy than comparing
two means. Where the rows differ that is said, and the errors of both means are added.
"""

import csv
import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from likely import evaluate
from likely.core.checks import InputError
from likely.core.written_numbers import with_error
from likely.workbench.report.contents import Report
from likely.workbench.report.typed_json import plain
from likely.workbench.report.verdict import SHOWN_SCORES, score
from likely.workbench.result import Result

DENSITIES = ("real", "positive")
"""Kinds of targets whose nats are of densities in the same unit."""


class HeldOutLosses(NamedTuple):
    """The losses of the held-out rows of a run, by their numbers in the file."""

    name: str
    report: Report
    rows: Int[np.ndarray, " n"]
    loss: Float[np.ndarray, " n"]
    w: Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class ComparedRun:
    """A run beside the first one.

    Attributes:
        name: the folder of the run.
        model: its best model, in words.
        rows: how many held-out rows were scored.
        nats: the mean negative log-likelihood of a row.
        error: its standard error.
        gain: nats per row gained over the first run; None where that has no meaning.
        gain_error: its standard error.
        how: how the runs were compared, as a sentence.
        scores: familiar scores by name.
    """

    name: str
    model: str
    rows: int
    nats: float
    error: float | None
    gain: float | None
    gain_error: float | None
    how: str
    scores: dict[str, float | None]


@dataclasses.dataclass(frozen=True, repr=False)
class RunComparison:
    """Runs side by side; the first is what the others are compared with.

    Attributes:
        runs: the runs, in the order in which they were given.
    """

    runs: tuple[ComparedRun, ...]

    @property
    def rows(self) -> list[dict[str, str]]:
        """The comparison as a table of text, one row for each run."""
        names = [n for n in SHOWN_SCORES if any(n in run.scores for run in self.runs)]
        return [
            {
                "run": run.name,
                "model": run.model,
                "rows": f"{run.rows:,}",
                "nats": with_error(run.nats, run.error),
                "gain": with_error(run.gain, run.gain_error, "+") if i else "",
                **{name: score(run.scores.get(name)) for name in names},
            }
            for i, run in enumerate(self.runs)
        ]

    @property
    def sentences(self) -> list[str]:
        """What the differences mean, one sentence for each run after the first."""
        return [_sentence(self.runs[0], run) for run in self.runs[1:]]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON has it."""
        return plain(self)

    def __repr__(self) -> str:
        return "\n".join(self.sentences)


def compare(*runs: Any) -> RunComparison:
    """Two or more finished runs side by side.

    Args:
        runs: folders of runs, or results; the first is what others are compared with.

    Example:
        ```python
        lk.workbench.compare("run-a", "run-b").rows
        ```
    """
    if len(runs) < 2:
        raise InputError("one run cannot be compared; give at least two.")
    found = [_losses(run, i) for i, run in enumerate(runs)]
    return RunComparison(tuple(_compared(found[0], run) for run in found))


def _losses(run: Any, number: int) -> HeldOutLosses:
    if isinstance(run, Result):
        predictions = run.held_out[run.report.winner.name]
        rows, w = run.table.rows[predictions.rows], run.table.w[predictions.rows]
        return HeldOutLosses(f"run {number + 1}", run.report, rows, predictions.loss, w)
    folder = Path(run)
    report = read_report(folder)
    try:
        with (folder / "predictions.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        rows = np.array([int(line["row"]) for line in lines])
        loss = np.array([float(line["nats"]) for line in lines])
        w = np.array([float(line.get("weight") or 1) for line in lines])
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"the held-out predictions of {str(folder)!r} cannot be read; repeat the run "
            "with this version of likely."
        ) from error
    return HeldOutLosses(str(folder), report, rows, loss, w)


def read_report(folder: str | Path) -> Report:
    """The report of a finished run."""
    folder = Path(folder)
    path = folder / "report.json"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        unfinished = (folder / "spec.toml").exists()
        also = f"; the run is unfinished: likely resume {folder}" if unfinished else "."
        raise InputError(f"{folder} holds no report{also}") from None
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
    try:
        return Report.from_json(text)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _compared(base: HeldOutLosses, run: HeldOutLosses) -> ComparedRun:
    winner = run.report.winner
    gain, how = _gain(base, run)
    return ComparedRun(
        run.name, winner.label, len(run.rows), winner.nats, winner.error,
        gain.value if gain else None, gain.error if gain else None, how,
        dict(winner.scores),
    )  # fmt: skip


def _gain(base: HeldOutLosses, run: HeldOutLosses) -> tuple[evaluate.Score | None, str]:
    """The gain of a run over the first one, and how it was computed."""
    a, b = base.report, run.report
    refusal = _incomparable(a, b)
    if refusal:
        return None, refusal
    if a.data.truths != b.data.truths:
        error = np.hypot(a.winner.error or np.nan, b.winner.error or np.nan)
        score = evaluate.Score(a.winner.nats - b.winner.nats, float(error))
        return score, "on different rows, so that chance in the rows counts too"
    shared, i, j = np.intersect1d(base.rows, run.rows, return_indices=True)
    gain = evaluate.paired_difference(base.loss[i], run.loss[j], run.w[j])
    folds = "the same folds" if a.data.folds == b.data.folds else "other folds"
    return gain, f"row by row on the same {len(shared):,} held-out rows with {folds}"


def _incomparable(a: Report, b: Report) -> str:
    """Why the nats of two reports have different meanings; empty if they have not."""
    x, y = a.target, b.target
    if x.name != y.name:
        return f"the targets differ ({x.name!r} and {y.name!r})"
    if x.classes != y.classes:
        return f"the classes of {x.name!r} differ"
    if x.kind != y.kind and not (x.kind in DENSITIES and y.kind in DENSITIES):
        return f"{x.name!r} is {x.kind} in one and {y.kind} in the other"
    return ""


def _sentence(base: ComparedRun, run: ComparedRun) -> str:
    if run.gain is None:
        return f"{run.name} cannot be compared with {base.name}: {run.how}."
    gap = with_error(abs(run.gain), run.gain_error)
    clear = bool(run.gain_error) and abs(run.gain) > 2 * (run.gain_error or 0)
    if run.gain == 0:
        said = f"is exactly as good as {base.name}"
    elif not clear:
        said = f"is as good as {base.name} within error ({gap} nats per row apart)"
    else:
        better = "better" if run.gain > 0 else "worse"
        said = f"is {better} than {base.name} by {gap} nats per row"
    return f"{run.name} {said}, {run.how}."
