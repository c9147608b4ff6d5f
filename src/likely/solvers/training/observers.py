"""Callbacks of the library: a history, a progress bar, TensorBoard, MLflow."""

import math
from contextlib import suppress
from importlib import import_module
from os import PathLike
from typing import Any

from likely.core.checks import InputError
from likely.core.progress import Bar
from likely.solvers.training.events import Event

MEASURED_KINDS = ("step", "epoch", "validation")
"""The kinds of events that bring new numbers."""


class History:
    """Keeps every event; `history["loss"]` is a list, one number for each event."""

    def __init__(self):
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def __repr__(self) -> str:
        if not self.events:
            return "History without events"
        last = self.events[-1]
        courses = {
            name: self[name] for name in ("loss", "gradient", "rate", "validation")
        }
        texts = [f"{n} {v[0]:.4g} to {v[-1]:.4g}" for n, v in courses.items() if v]
        head = f"History of {len(self.events)} events, {last.step} steps"
        ending = f"; {last.message}" if last.message else ""
        return f"{head}: {', '.join(texts)}{ending}"

    def __getitem__(self, name: str) -> list[float]:
        values = [getattr(e, name) for e in self.events if e.kind in MEASURED_KINDS]
        return [float(value) for value in values if not math.isnan(value)]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events, in order."""
        return [event.kind for event in self.events]


class ProgressBar:
    """A bar with the loss, the rate, the time left and "compiling", on stderr.

    Args:
        console: a `rich.console.Console`; one on stderr where None.
        unit: what is counted each second, such as "tokens"; None for nothing.
        per_step: how many of them a step uses.
    """

    def __init__(
        self, console: Any = None, *, unit: str | None = None, per_step: int = 1
    ):
        self.console, self.unit, self.per_step = console, unit, per_step
        self.bar: Bar | None = None
        self.first: Event | None = None
        """The first event with numbers: what was compiled before it does not count."""

    def __call__(self, event: Event) -> None:
        """Draw the event."""
        if event.kind == "start":
            self.bar, self.first = Bar(event.steps, console=self.console), None
            self.bar.start(event.step)
        elif self.bar is None:
            return
        elif event.kind == "stop":
            self.bar.update(event.step, "done")
            self.close()
        elif event.kind in MEASURED_KINDS:
            detail = " ".join(f"{k} {v:.4g}" for k, v in event.numbers.items())
            if event.members > 1:
                detail += f" ({event.running} of {event.members} running)"
            detail += self._speed(event)
            self.bar.update(event.step, "training", detail=detail)

    def _speed(self, event: Event) -> str:
        """How many units are used each second, once that is known."""
        if self.first is None:
            self.first = event
        seconds = event.seconds - self.first.seconds
        if self.unit is None or not seconds > 0:
            return ""
        steps = (event.step - self.first.step) * event.members
        return f" {steps * self.per_step / seconds:,.0f} {self.unit}/s"

    def close(self) -> None:
        """Stop drawing, also where a run ends by an error."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


class TensorBoard:
    """Writes the numbers of every event where TensorBoard looks for them.

    Needs `tensorboardX` or PyTorch, whichever is installed.
    """

    def __init__(self, folder: str | PathLike):
        modules = "tensorboardX", "torch.utils.tensorboard"
        self.writer = _installed("TensorBoard", *modules).SummaryWriter(str(folder))

    def __call__(self, event: Event) -> None:
        """Write the numbers of the event."""
        if event.kind in MEASURED_KINDS:
            for name, value in event.numbers.items():
                self.writer.add_scalar(name, value, event.step)
        elif event.kind == "stop":
            self.writer.add_text("status", event.message, event.step)
            self.writer.close()


class MLflow:
    """Logs the numbers of every event to the active MLflow run, or a new one.

    Args:
        client: the module `mlflow`, or whatever has its `log_metrics`, `set_tag`,
            `active_run`, `start_run` and `end_run`.
        settings: logged once, as parameters.
    """

    def __init__(self, client: Any = None, settings: dict[str, Any] | None = None):
        self.client = _installed("MLflow", "mlflow") if client is None else client
        self.settings, self.own = settings or {}, False

    def __call__(self, event: Event) -> None:
        """Log the numbers of the event."""
        if event.kind == "start":
            self.own = self.client.active_run() is None
            if self.own:
                self.client.start_run()
            if self.settings:
                self.client.log_params(self.settings)
        elif event.kind in MEASURED_KINDS:
            self.client.log_metrics(event.numbers, step=event.step)
        elif event.kind == "stop":
            self.client.set_tag("status", event.message)
            if self.own:
                self.client.end_run()


def _installed(callback: str, *modules: str) -> Any:
    """The first of these modules that can be imported."""
    for module in modules:
        with suppress(ImportError):
            return import_module(module)
    raise InputError(
        f"{callback} needs the package {modules[0]}, which is not installed; install "
        "it, or leave this callback out."
    )
