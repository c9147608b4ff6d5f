"""A run: models are compared on a table, and the best is refitted and saved.

All results are a function of the spec and the data, so a run that was killed continues
to the same bytes. Times are written to a file of their own.
"""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.files import save
from likely.files.atomic import replace
from likely.files.lock import locked
from likely.workbench import scoring
from likely.workbench.candidates import candidates_for
from likely.workbench.ladder import Event, Ladder, Notify, ignore
from likely.workbench.means import absurd_means, better_mean, eligible
from likely.workbench.measures.comparison import compared, simpler_model, with_notes
from likely.workbench.measures.whole import digest, reported
from likely.workbench.model import TableModel
from likely.workbench.plan import planned, shortened
from likely.workbench.problem import Candidate
from likely.workbench.report.facts import Winner
from likely.workbench.result import Result
from likely.workbench.spec import Spec
from likely.workbench.table import Table, prepare, prose, read

WORK_FOLDER, SPEC_FILE, REPORT_FILE = "work", "spec.toml", "report.json"
INPUT_FILE = "stdin"
"""The bytes that a run was given, where they came from no file."""


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
    event: str = "",
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
        event: a column that says whether the event happened at the time that is the
            target (1, yes), or had not happened until then (0, no).
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
        event=event,
    )
    return run_spec(spec, source, out=out, notify=notify)


def run_spec(
    spec: Spec,
    source: Any = None,
    *,
    out: str | Path | None = None,
    notify: Notify = ignore,
) -> Result:
    """Run a spec on a source of rows, which is named by the spec where it is None.

    Bytes of a file, such as those of stdin, are kept in the folder.
    """
    notify(Event("stage", text="reading the table"))
    source = spec.data if source is None else source
    table = prepare(spec, read(source, spec.target, spec.kinds))
    spec = dataclasses.replace(spec, target=table.target.name)
    candidates = candidates_of(table, spec.models)
    plan = planned(spec, table, candidates)
    table = shortened(table, plan, spec.seed)
    if out is None:
        return _run(Ladder(spec, table, candidates, None, notify, plan=plan))
    folder = Path(out)
    with _made(folder), locked(folder):
        if isinstance(source, bytes):
            replace(
                folder / INPUT_FILE, lambda file: file.write(source), lambda _: True
            )
            spec = dataclasses.replace(spec, data=str(folder / INPUT_FILE))
        spec = spec.seen_from(folder)
        work = _work_folder(folder, spec, table)
        result = _run(Ladder(spec, table, candidates, work, notify, plan=plan))
        _write(folder, result)
        shutil.rmtree(work, ignore_errors=True)
    return result


def candidates_of(table: Table, chosen: tuple[str, ...]) -> list[Candidate]:
    """The models that are compared on a table: those chosen, or all that fit it."""
    texts, others = bool(prose(table)), any(column.used for column in table.schema)
    return candidates_for(table.target.kind, chosen, texts=texts, others=others)


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder; a run that is refused leaves nothing behind that was not there."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except InputError:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        for path in new[1:]:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _run(ladder: Ladder) -> Result:
    ladder.run()
    return _result(ladder)


def _result(ladder: Ladder) -> Result:
    """Choose the best model, refit and recalibrate it, and write the report."""
    spec, table = ladder.spec, ladder.table
    rows = compared(ladder)
    rows = with_notes(rows, absurd_means(rows))
    best = min(eligible(rows), key=lambda row: row.nats)
    name, predictions = best.name, ladder.held_out[best.name]
    calibrated = scoring.calibrate(table, predictions)
    covered = scoring.out_of_fold(table, predictions, spec.coverage, calibrated)
    final = ladder.of_all(name)
    scored = scoring.for_final(calibrated, table, predictions, final)
    order = np.argsort(scored.scores, kind="stable")
    model = TableModel(
        name,
        table.target,
        final.encoders,
        tuple(final.parts),
        final.weights,
        calibrated.temperature,
        calibrated.stretch,
        scored.scores[order],
        scored.weights[order],
        final.known,
        calibrated.scale,
    )
    means = better_mean(ladder, rows, best)
    winner = Winner(
        **{f.name: getattr(best, f.name) for f in dataclasses.fields(best)},
        temperature=calibrated.temperature,
        stretch=calibrated.stretch,
        coverage_asked=spec.coverage,
        coverage=covered["coverage"],
        coverage_error=covered.get("coverage_error"),
        size=covered["size"],
        simpler=simpler_model(ladder, rows, best),
        better_mean=means.sentence if means else "",
    )
    report = reported(ladder, rows, winner, covered).rounded()
    return Result(report, model, table, dict(ladder.held_out), covered, ladder.seconds)


def _work_folder(folder: Path, spec: Spec, table: Table) -> Path:
    """The folder of results by fold during a run; those of another run are removed."""
    work = folder / WORK_FOLDER
    state = json.dumps({"spec": spec.to_toml(), "digest": digest(table)})
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
    _write_text(folder / "report.html", page(result.report))


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
        table = prepare(spec, read(spec.data, spec.target, spec.kinds))
        known = json.loads((folder / REPORT_FILE).read_text("utf-8"))["data"]["digest"]
        changed = "" if digest(table) == known else ", and its data have changed since"
        raise FinishedRun(
            f"the run in {str(folder)!r} is finished{changed}: see its report.html, or "
            f"repeat it with `likely fit --spec {path}`."
        )
    return run_spec(spec, out=folder, notify=notify)


class FinishedRun(InputError):
    """There is nothing to continue."""
