"""`likely fit`, `resume` and `report`: a run with a progress bar on stderr."""

import json
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from likely.cli.interrupt import prompt_interrupt
from likely.core.checks import InputError
from likely.core.host import tune_host
from likely.core.progress import Bar
from likely.workbench import Result, Spec, resume, run_spec
from likely.workbench.job import WORK_FOLDER
from likely.workbench.ladder import Event


def run_with_progress(spec: Spec, out: Path) -> Result:
    """Run a spec with a progress bar."""
    return _with_progress(partial(run_spec, spec, out=out), out)


def resume_with_progress(folder: Path) -> Result:
    """Continue an interrupted run with a progress bar."""
    return _with_progress(partial(resume, folder), folder)


def _with_progress(start: Callable[..., Result], out: Path) -> Result:
    """A run with a bar of models and folds, with the last loss; silent off a terminal."""
    tune_host()
    shown, text = sys.stderr.isatty(), "reading the table"
    bar = Bar(description=text, enabled=shown, transient=True)
    with prompt_interrupt(partial(stopped, out)), bar:
        return start(notify=partial(_show, bar))


def stopped(out: Path) -> str:
    """What to do after Ctrl-C."""
    if (out / WORK_FOLDER).is_dir():
        return f"stopped; `likely resume {shlex.quote(str(out))}` continues from here."
    return "stopped before there was anything to continue; start again."


def _show(bar: Bar, event: Event) -> None:
    """Show a step of the run."""
    if event.kind == "start":
        bar.update(completed=0, total=event.total)
    elif event.kind == "fit":
        bar.update(description=f"{event.model}, fold {event.fold + 1}")
    elif event.kind == "done":
        bar.update(advance=1, detail=f"last: {event.loss:.4f} nats")
    elif event.kind == "skip":
        bar.update(advance=1)
    else:
        bar.update(description=event.text)


def read_report(folder: Path) -> dict[str, Any]:
    """The report of a finished run."""
    path = folder / "report.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        unfinished = (folder / "spec.toml").exists()
        also = f"; the run is unfinished: likely resume {folder}" if unfinished else "."
        raise InputError(f"{folder} holds no report{also}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error
