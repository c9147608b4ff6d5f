"""A run: a table in, a ladder of judged models out, and one of them to deploy.

Everything a run finds is a function of its spec and its data, so a run that was killed
goes on to the same bytes. What the clock says stays in a file of its own.
"""

import dataclasses
import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import likely
from likely.core.checks import InputError
from likely.files import save
from likely.files.atomic import replace
from likely.workbench import judge
from likely.workbench.effects import effects, importances
from likely.workbench.findings import all_findings
from likely.workbench.ladder import Event, Ladder
from likely.workbench.model import TableModel
from likely.workbench.result import Result, plain
from likely.workbench.rungs import rungs_for
from likely.workbench.simple import simple_model
from likely.workbench.spec import Spec
from likely.workbench.table import Table, prepare, read

WORK = "work"


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
    tell: Callable[[Event], None] = lambda event: None,
) -> Result:
    """Compare models on a table, honestly, and refit the best.

    Args:
        source: a pandas, polars or Arrow frame, a file, or the name of a data set.
        target: the column to predict; the last one where empty.
        family: how the target is distributed; told from its values where empty.
        models: names of rungs; all that fit the target where empty.
        folds: how many parts the rows are dealt into.
        effort: "quick", "normal" or "thorough".
        seed: deals the rows and starts the models.
        coverage: of intervals and sets.
        kinds: kinds of columns, over those that are inferred.
        drop: columns to leave out.
        weight: a column that says how often each row counts.
        groups: a column whose rows stay together in a fold.
        time: a column by which the past is parted from the future.
        out: a folder for the report, the model and the predictions.
        tell: is told what happens, for progress bars.

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
    return run_spec(spec, source, out=out, tell=tell)


def run_spec(
    spec: Spec,
    source: Any = None,
    *,
    out: str | Path | None = None,
    tell: Callable[[Event], None] = lambda event: None,
) -> Result:
    """The same for a spec; `source` is read from the spec where it is None."""
    tell(Event("stage", text="reading the table"))
    table = prepare(spec, *read(spec.data if source is None else source, spec.target))
    spec = dataclasses.replace(spec, target=table.target.name)
    folder = None if out is None else Path(out)
    work = None
    if folder is not None:
        work = _work_folder(folder, spec, table)
    ladder = Ladder(spec, table, rungs_for(table.target.kind, spec.models), work, tell)
    ladder.climb()
    result = _judge(ladder)
    if folder is not None:
        _write(folder, spec, result)
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
    return result


def _judge(ladder: Ladder) -> Result:
    """Choose, refit, recalibrate, explain."""
    spec, table = ladder.spec, ladder.table
    rows = judge.ladder_rows(ladder)
    winner = next(row for row in rows if row["name"] == judge.best(rows))
    name, held = winner["name"], ladder.held[winner["name"]]
    calibrated = judge.calibrate(table, held)
    covered = judge.out_of_fold(table, held, spec.coverage)
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
    ladder.tell(Event("stage", text="the simplest model"))
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
        "skipped": {ladder.rungs[k].label: v for k, v in ladder.skipped.items()},
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
        plain(report), model, table, dict(ladder.held), covered, ladder.seconds
    )


def _data(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "rows": len(table),
        "weight": float(table.w.sum()),
        "dealt": table.dealt,
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
    """The same for the same rows."""
    found = hashlib.sha256()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.frame.schema) as file:
        file.write_table(table.frame.combine_chunks())
    found.update(sink.getvalue())
    found.update(table.y.tobytes())
    found.update(table.w.tobytes())
    return found.hexdigest()


def _work_folder(folder: Path, spec: Spec, table: Table) -> Path:
    """Where folds are kept while a run goes on; those of another run are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / WORK
    state = json.dumps({"spec": spec.to_toml(), "digest": _digest(table)})
    mark = work / "run.json"
    if not (mark.exists() and mark.read_text(encoding="utf-8") == state):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        _text(mark, state)
    _text(folder / "spec.toml", spec.to_toml())
    return work


def _write(folder: Path, spec: Spec, result: Result) -> None:
    from likely.workbench.report import page

    (folder / "model").mkdir(exist_ok=True)
    save(result.model, folder / "model" / "model.likely", card=result.card())
    _text(folder / "predictions.csv", result.predictions_csv())
    _text(folder / "timing.json", json.dumps(result.seconds, indent=2) + "\n")
    _text(folder / "report.json", result.to_json())
    _text(folder / "report.html", page(result))


def _text(path: Path, text: str) -> None:
    replace(path, lambda file: file.write(text.encode()), lambda _: True)


def resume(
    folder: str | Path, tell: Callable[[Event], None] = lambda event: None
) -> Result:
    """Go on with a run that was interrupted."""
    path = Path(folder) / "spec.toml"
    if not path.exists():
        raise InputError(f"{str(folder)!r} holds no run: there is no spec.toml in it.")
    return run_spec(Spec.read(path), out=folder, tell=tell)
