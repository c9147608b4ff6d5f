"""`likely fit`, `resume` and `report`: a run with a progress bar on stderr."""

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from likely.cli.interrupt import prompt_interrupt
from likely.core.host import tune_host
from likely.core.progress import Bar
from likely.workbench import Result, Spec, resume, run_spec
from likely.workbench.job import WORK_FOLDER
from likely.workbench.ladder import Event

STDIN = "-"
"""The name of the data that come from stdin."""


def run_with_progress(spec: Spec, out: Path) -> Result:
    """Run a spec with a progress bar."""
    source = sys.stdin.buffer.read() if spec.data == STDIN else None
    return _with_progress(partial(run_spec, spec, source, out=out), out)


def resume_with_progress(folder: Path) -> Result:
    """Continue an interrupted run with a progress bar."""
    return _with_progress(partial(resume, folder), folder)


def detect_with_progress(spec: Any, out: Path) -> Any:
    """Train a detector with a progress bar of its steps."""
    from likely.workbench.detection.run import run_detection

    tune_host()
    with prompt_interrupt(partial(_stopped_training, out)):
        return run_detection(spec, out, verbose=sys.stderr.isatty())


def _stopped_training(out: Path) -> str:
    """What to do after Ctrl-C."""
    return (
        f"stopped; the same command with --force goes on from {shlex.quote(str(out))}."
    )


def _with_progress(start: Callable[..., Result], out: Path) -> Result:
    """A run with a bar of models and folds, with the best model of the first fold."""
    tune_host()
    shown, text = sys.stderr.isatty(), "reading the table"
    bar = Bar(description=text, enabled=shown, transient=True)
    with prompt_interrupt(partial(stopped, out)), bar:
        return start(notify=Shown(bar))


def stopped(out: Path) -> str:
    """What to do after Ctrl-C."""
    if (out / WORK_FOLDER).is_dir():
        return f"stopped; `likely resume {shlex.quote(str(out))}` continues from here."
    return "stopped before there was anything to continue; start again."


class Shown:
    """Shows the steps of a run: a bar on a terminal, elsewhere one line as first answer."""

    def __init__(self, bar: Bar):
        self.bar, self.first = bar, {}

    def __call__(self, event: Event) -> None:
        """Show a step."""
        bar = self.bar
        if event.kind == "start":
            bar.update(completed=0, total=event.total)
        elif event.kind == "fit":
            bar.update(description=f"{event.model}, fold {event.fold + 1}")
        elif event.kind == "done":
            self._done(event)
        elif event.kind == "skip":
            bar.update(advance=1)
        else:
            bar.update(description=event.text)

    def _done(self, event: Event) -> None:
        if event.fold == 0:
            self.first[event.model] = event.loss
            if len(self.first) == 2 and not self.bar.enabled:
                both = ", ".join(f"{k} {v:.3g}" for k, v in self.first.items())
                print(f"first fold: {both} nats per row", file=sys.stderr)
        best = min(self.first, key=lambda name: self.first[name], default="")
        detail = best and f"best of the first fold: {best}, {self.first[best]:.3g} nats"
        self.bar.update(advance=1, detail=detail)
