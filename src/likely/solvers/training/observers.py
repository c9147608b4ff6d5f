"""Callbacks that come along: a history, a progress bar, TensorBoard, MLflow."""

import math
import sys
from os import PathLike
from typing import Any

from likely.core.checks import InputError
from likely.solvers.training.events import Event

TOLD = ("step", "epoch", "validation")


class History:
    """Keeps every event; `history["loss"]` is a list, one number for each event."""

    def __init__(self):
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def __getitem__(self, name: str) -> list[float]:
        told = [getattr(e, name) for e in self.events if e.kind in TOLD]
        return [float(value) for value in told if not math.isnan(value)]

    @property
    def kinds(self) -> list[str]:
        """What happened, in order."""
        return [event.kind for event in self.events]


class ProgressBar:
    """A bar with the loss, the rate, the time left and "compiling", on stderr."""

    def __init__(self, console: Any = None):
        self.console = console
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, event: Event) -> None:
        """Draw."""
        if event.kind == "start":
            self._open(event)
        if self.bar is None:
            return
        if event.kind == "compiling":
            self.bar.update(self.task, description="compiling", refresh=True)
        elif event.kind == "stop":
            self.bar.update(self.task, completed=event.step, description="done")
            self.bar.stop()
            self.bar = None
        elif event.kind in TOLD:
            words = " ".join(f"{k} {v:.4g}" for k, v in event.numbers.items())
            if event.members > 1:
                words += f" ({event.running} of {event.members} running)"
            self.bar.update(
                self.task, completed=event.step, description="training", words=words
            )

    def _open(self, event: Event) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[words]}"),
            console=self.console or Console(file=sys.stderr),
            transient=False,
        )
        self.task = self.bar.add_task(
            "starting", total=event.steps, completed=event.step, words=""
        )
        self.bar.start()


class TensorBoard:
    """Writes the numbers of every event where TensorBoard looks for them.

    Needs `tensorboardX` or PyTorch, whichever is there.
    """

    def __init__(self, folder: str | PathLike):
        self.writer = _summary_writer()(str(folder))

    def __call__(self, event: Event) -> None:
        """Write."""
        if event.kind in TOLD:
            for name, value in event.numbers.items():
                self.writer.add_scalar(name, value, event.step)
        elif event.kind == "stop":
            self.writer.add_text("status", event.message, event.step)
            self.writer.close()


def _summary_writer() -> Any:
    try:
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]
    except ImportError:
        try:
            from torch.utils.tensorboard import (  # pyright: ignore
                SummaryWriter,
            )
        except ImportError as error:
            raise InputError(
                "TensorBoard needs the package tensorboardX, which is not installed; "
                "install it, or leave this callback out."
            ) from error
    return SummaryWriter


class MLflow:
    """Logs the numbers of every event to the active MLflow run, or a new one.

    Args:
        client: the module `mlflow`, or whatever has its `log_metrics`, `set_tag`,
            `active_run`, `start_run` and `end_run`.
        settings: logged once, as parameters.
    """

    def __init__(self, client: Any = None, settings: dict[str, Any] | None = None):
        self.client = _mlflow() if client is None else client
        self.settings, self.own = settings or {}, False

    def __call__(self, event: Event) -> None:
        """Log."""
        if event.kind == "start":
            self.own = self.client.active_run() is None
            if self.own:
                self.client.start_run()
            if self.settings:
                self.client.log_params(self.settings)
        elif event.kind in TOLD:
            self.client.log_metrics(event.numbers, step=event.step)
        elif event.kind == "stop":
            self.client.set_tag("status", event.message)
            if self.own:
                self.client.end_run()


def _mlflow() -> Any:
    try:
        import mlflow  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError(
            "MLflow needs the package mlflow, which is not installed; install it, or "
            "leave this callback out."
        ) from error
    return mlflow
