"""`likely fit`, `resume` and `report`: a run with a progress bar on stderr."""

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from likely.core.checks import InputError
from likely.core.host import tune_host
from likely.workbench import Result, Spec, resume, run_spec
from likely.workbench.ladder import Event


def climb(spec: Spec, out: Path) -> Result:
    """Run a spec, and show how it goes."""
    tune_host()
    with Watcher() as watcher:
        return run_spec(spec, out=out, tell=watcher)


def go_on(folder: Path) -> Result:
    """Go on with a run that was interrupted."""
    tune_host()
    with Watcher() as watcher:
        return resume(folder, watcher)


def read_report(folder: Path) -> dict[str, Any]:
    """What a run found."""
    path = folder / "report.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        unfinished = (folder / "spec.toml").exists()
        also = f"; the run is unfinished: likely resume {folder}" if unfinished else "."
        raise InputError(f"{folder} holds no report{also}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error


class Watcher:
    """A bar of rungs and folds with the last loss and the time left; plain off a terminal."""

    def __init__(self):
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self.task = self.bar.add_task("reading the table", total=None)
        self.last = ""

    def __enter__(self) -> "Watcher":
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def __call__(self, event: Event) -> None:
        """Show what happens."""
        if event.kind == "start":
            self.bar.update(self.task, total=event.total, completed=0)
        elif event.kind == "fit":
            text = f"{event.rung}, fold {event.fold + 1}{self.last}"
            self.bar.update(self.task, description=text)
        elif event.kind in ("done", "skip"):
            self.bar.advance(self.task)
            if event.kind == "done":
                self.last = f" (before: {event.loss:.4f} nats)"
        else:
            self.bar.update(self.task, description=event.text)
