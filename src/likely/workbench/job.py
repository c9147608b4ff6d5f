"""A run: models are compared on a table, and the best is refitted and saved.

All results are a function of the spec and the data, so a run that was killed continues
to the same bytes. Times are written to a file of their own.
"""

import dataclasses
import hashlib
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import likely
from likely.core.checks import InputError
from likely.files import save
from likely.files.atomic import replace
from likely.files.lock import locked
from likely.workbench import scoring
from likely.workbench.candidates import candidates_for
from likely.workbench.effects import effects, importances
from likely.workbench.findings import all_findings
from likely.workbench.ladder import Event, Ladder, Notify, ignore
from likely.workbench.model import TableModel
from likely.workbench.result import Result, plain
from likely.workbench.simple import simple_model
from likely.workbench.spec import Spec
from likely.workbench.table import Table, prepare, read

WORK_FOLDER, SPEC_FILE, REPORT_FILE = "work", "spec.toml", "report.json"


def run(
    source: Any = "diabetes",
    target: str = "",
    *,
    family: str = "",
    models: Sequence[str] = (),
    folds: int = 5,
    effort: str = "normal",
    seed: int = 0,
    coverage: float = 0.9,
    kinds: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    weight: str = "",
    groups: str = "",
    time: str = "",
    out: str | Path | None = None,
    notify: Notify = ignore,
) -> Result:
    """Compare models on held-out rows of a table, and refit the best to all rows.

    Args:
        source: a pandas, polars or Arrow frame, a file, or the name of a data set.
        target: the column to predict; the last one where empty.
        family: how the target is distributed; inferred from its values where empty.
        models: names of models to compare; all that fit the target where empty.
        folds: the number of folds of cross-validation.
        effort: "quick", "normal" or "thorough".
        seed: of the folds and of the models.
        coverage: of intervals and sets.
        kinds: kinds of columns, which override those that are inferred.
        drop: columns to leave out.
        weight: a column that says how often each row counts.
        groups: a column whose rows stay together in a fold.
        time: a column of times; the past predicts the future.
        out: a folder for the report, the model and the predictions.
        notify: a function that is called with each step of the run.

    Example:
        ```python
        import likely as lk

        result = lk.workbench.run("iris", effort="quick")
        result.model.predict(frame)
        ```
    """
    named = isinstance(source, str | Path)
    spec = Spec(
        data=str(source) if named else "frame",
        target=target,
        family=family,
        models=tuple(models),
        folds=folds,
        effort=effort,
        seed=seed,
        coverage=float(coverage),
        kinds=dict(kinds or {}),
        drop=tuple(drop),
        weight=weight,
        groups=groups,
        time=time,
    )
    return run_spec(spec, source, out=out, notify=notify)


def run_spec(
    spec: Spec,
    source: Any = None,
    *,
    out: str | Path | None = None,
    notify: Notify = ignore,
) -> Result:
    """Run a spec on a source of rows, which is named by the spec where it is None."""
    notify(Event("stage", text="reading the table"))
    table = prepare(spec, read(spec.data if source is None else source, spec.target))
    spec = dataclasses.replace(spec, target=table.target.name)
    candidates = candidates_for(table.target.kind, spec.models)
    if out is None:
        return _run(Ladder(spec, table, candidates, None, notify))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        spec = spec.seen_from(folder)
        work = _work_folder(folder, spec, table)
        result = _run(Ladder(spec, table, candidates, work, notify))
        _write(folder, result)
        shutil.rmtree(work, ignore_errors=True)
    return result


def _run(ladder: Ladder) -> Result:
    ladder.run()
    return _result(ladder)


def _result(ladder: Ladder) -> Result:
    """Choose the best model, refit and recalibrate it, and write the report."""
    spec, table = ladder.spec, ladder.table
    rows = scoring.score_rows(ladder)
    winner = min(rows, key=lambda row: row["nats"])
    name, predictions = winner["name"], ladder.held_out[winner["name"]]
    calibrated = scoring.calibrate(table, predictions)
    covered = scoring.out_of_fold(table, predictions, spec.coverage)
    final = ladder.of_all(name)
    order = np.argsort(calibrated.scores, kind="stable")
    model = TableModel(
        name,
        table.target,
        final.encoders,
        tuple(final.parts),
        final.weights,
        calibrated.temperature,
        calibrated.stretch,
        calibrated.scores[order],
        calibrated.weights[order],
    )
    ladder.notify(Event("stage", text="coefficients of a linear model"))
    simple = simple_model(table)
    important = [] if name == "null" else importances(ladder, name)
    shown = [i.column for i in important if i.nats > 0]
    curves = [] if name == "null" else effects(ladder, name, shown)
    findings = all_findings(ladder, simple, winner, calibrated, covered)
    report = {
        "version": 1,
        "likely": likely.__version__,
        "spec": dataclasses.asdict(spec),
        "data": _data(table),
        "target": dataclasses.asdict(table.target),
        "ladder": rows,
        "skipped": {ladder.candidates[k].label: v for k, v in ladder.skipped.items()},
        "winner": {
            **winner,
            "temperature": calibrated.temperature,
            "stretch": calibrated.stretch,
            "coverage_asked": spec.coverage,
            "coverage": covered["coverage"],
            "size": covered["size"],
        },
        "simple": simple._asdict(),
        "importances": [i._asdict() for i in important],
        "effects": [e._asdict() for e in curves],
        "findings": [f._asdict() for f in findings],
        "versions": _versions(),
    }
    return Result(
        plain(report), model, table, dict(ladder.held_out), covered, ladder.seconds
    )


def _data(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "rows": len(table),
        "weight": float(table.w.sum()),
        "dealt": table.split,
        "digest": _digest(table),
        "notes": list(table.notes),
        "columns": [
            {**dataclasses.asdict(column), "used": column.used}
            for column in table.schema
        ],
    }


def _versions() -> dict[str, str]:
    import jax
    import sklearn

    return {
        "likely": likely.__version__,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "device": jax.devices()[0].device_kind,
    }


def _digest(table: Table) -> str:
    """A checksum of the rows, the targets and the weights."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.frame.schema) as file:
        file.write_table(table.frame.combine_chunks())
    found = hashlib.sha256(sink.getvalue())
    found.update(table.y.tobytes())
    found.update(table.w.tobytes())
    return found.hexdigest()


def _work_folder(folder: Path, spec: Spec, table: Table) -> Path:
    """The folder of results by fold during a run; those of another run are removed."""
    work = folder / WORK_FOLDER
    state = json.dumps({"spec": spec.to_toml(), "digest": _digest(table)})
    state_file = work / "run.json"
    known = state_file.exists() and state_file.read_text(encoding="utf-8") == state
    if not known:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        _write_text(state_file, state)
    _write_text(folder / SPEC_FILE, spec.to_toml())
    return work


def _write(folder: Path, result: Result) -> None:
    from likely.workbench.report import page

    (folder / "model").mkdir(exist_ok=True)
    save(result.model, folder / "model" / "model.likely", card=result.card())
    _write_text(folder / "predictions.csv", result.predictions_csv())
    _write_text(folder / "timing.json", json.dumps(result.seconds, indent=2) + "\n")
    _write_text(folder / REPORT_FILE, result.to_json())
    _write_text(folder / "report.html", page(result))


def _write_text(path: Path, text: str) -> None:
    replace(path, lambda file: file.write(text.encode()), lambda _: True)


def resume(folder: str | Path, notify: Notify = ignore) -> Result:
    """Continue a run that was interrupted."""
    folder = Path(folder)
    path = folder / SPEC_FILE
    if not path.exists():
        raise InputError(f"{str(folder)!r} holds no run: there is no spec.toml in it.")
    spec = Spec.read(path)
    if not (folder / WORK_FOLDER).is_dir():
        table = prepare(spec, read(spec.data, spec.target))
        known = json.loads((folder / REPORT_FILE).read_text("utf-8"))["data"]["digest"]
        changed = "" if _digest(table) == known else ", and its data have changed since"
        raise FinishedRun(
            f"the run in {str(folder)!r} is finished{changed}: see its report.html, or "
            f"repeat it with `likely fit --spec {path}`."
        )
    return run_spec(spec, out=folder, notify=notify)


class FinishedRun(InputError):
    """There is nothing to continue."""
