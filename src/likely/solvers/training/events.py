"""The events of a training run, which callbacks receive.

    start        before anything is computed
    compiling    the first call of a program; it may take a moment
    step         after some steps
    epoch        a step event at the end of an epoch
    validation   the loss on the validation rows was computed
    checkpoint   the run was saved
    stop         the end, with the sentence that says why

A callback is a function of an event. If it returns True, the run ends there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Kind = Literal[
    "start", "compiling", "step", "epoch", "validation", "checkpoint", "stop"
]


@dataclass(frozen=True)
class Event:
    """One event of a training run; numbers that are not known yet are NaN.

    Attributes:
        kind: what happened.
        step: updates made so far.
        steps: the limit on the number of updates.
        epoch: passes over the data so far.
        loss: mean over the batches of the epoch (and over members).
        gradient: largest absolute entry of the last gradient.
        rate: learning rate of the last step.
        validation: the latest loss on the validation rows.
        best: the lowest of these.
        seconds: time since the start. For display: nothing may be decided by it.
        running: members that still run; 1 or 0 for a single run.
        members: number of members.
        message: why the run ended, at the stop.
    """

    kind: Kind
    step: int = 0
    steps: int = 0
    epoch: float = 0.0
    loss: float = float("nan")
    gradient: float = float("nan")
    rate: float = float("nan")
    validation: float = float("nan")
    best: float = float("nan")
    seconds: float = 0.0
    running: int = 1
    members: int = 1
    message: str = ""

    @property
    def numbers(self) -> dict[str, float]:
        """The measured quantities that are known, by name."""
        names = ("loss", "gradient", "rate", "validation", "best")
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if value == value}


Callback = Callable[[Event], bool | str | None]


class StepLimit(NamedTuple):
    """A callback that ends a training after the epoch in which it has taken some steps.

    A fit that is one program knows it in advance and takes no step more.
    """

    steps: int

    def __call__(self, event: Event) -> bool:
        """Whether to end."""
        return event.step >= self.steps


def as_callbacks(callbacks: Callback | Iterable[Callback]) -> tuple[Callback, ...]:
    """One callback, or several, as a tuple."""
    return (callbacks,) if callable(callbacks) else tuple(callbacks)


def asks_to_stop(results: Iterable[Any]) -> bool:
    """Whether one of the values that callbacks returned is True (or the word "stop")."""
    return any(
        (isinstance(result, bool | np.bool_) and bool(result))
        or (isinstance(result, str) and result == "stop")
        for result in results
    )


def notify(callbacks: tuple[Callback, ...], event: Event) -> bool:
    """Call every callback, in order; whether one of them asks to stop."""
    return asks_to_stop([callback(event) for callback in callbacks])
