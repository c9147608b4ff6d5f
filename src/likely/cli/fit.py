"""`likely fit`, `resume` and `report`: a run with a progress bar on stderr."""

import json
import sys
from pathlib import Path
from typing import Any

from likely.core.checks import InputError
from likely.core.host import tune_host
from likely.core.progress import Bar
from likely.workbench import Result, Spec, resume, run_spec
from likely.workbench.ladder import Event


def run_with_progress(spec: Spec, out: Path) -> Result:
    """Run a spec with a progress bar."""
    tune_host()
    with ProgressBar() as bar:
        return run_spec(spec, out=out, notify=bar)


def resume_with_progress(folder: Path) -> Result:
    """Continue an interrupted run with a progress bar."""
    tune_host()
    with ProgressBar() as bar:
        return resume(folder, notify=bar)


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


class ProgressBar:
    """A progress bar of models and folds, with the last loss; silent off a terminal."""

    def __init__(self):
        interactive = sys.stderr.isatty()
        self.bar = Bar(
            description="reading the table", enabled=interactive, transient=True
        )

    def __enter__(self) -> "ProgressBar":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def __call__(self, event: Event) -> None:
        """Show a step of the run."""
        if event.kind == "start":
            self.bar.update(completed=0, total=event.total)
        elif event.kind == "fit":
            self.bar.update(description=f"{event.model}, fold {event.fold + 1}")
        elif event.kind == "done":
            self.bar.update(advance=1, detail=f"last: {event.loss:.4f} nats")
        elif event.kind == "skip":
            self.bar.update(advance=1)
        else:
            self.bar.update(description=event.text)
