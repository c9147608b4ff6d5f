"""What happens in a run, as values: the one thing that all observers are told.

    start        before anything is computed
    compiling    the first call of a program; it may take a moment
    step         after some steps
    epoch        a step event at the end of an epoch
    validation   the validation rows were looked at
    checkpoint   the run was saved
    stop         the end, with the sentence that says why

A callback is a function of an event. If it returns "stop", the run ends there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "start", "compiling", "step", "epoch", "validation", "checkpoint", "stop"
]


@dataclass(frozen=True)
class Event:
    """Something that happened; numbers that are not known yet are NaN.

    Attributes:
        kind: what.
        step: updates made so far.
        steps: the most there may be.
        epoch: passes over the data so far.
        loss: mean over the batches of the epoch (and over members).
        gradient: largest absolute entry of the last gradient.
        rate: learning rate of the last step.
        validation: loss on the validation rows, at the last look.
        best: the lowest of these.
        seconds: since the start. For display: nothing may be decided by it.
        running: members that still run; 1 or 0 for a single run.
        members: how many there are.
        message: a sentence, at the stop.
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


Callback = Callable[[Event], str | None]


def tell(callbacks: tuple[Callback, ...], event: Event) -> bool:
    """Tell everybody, in order; whether somebody asked to stop."""
    return any([callback(event) == "stop" for callback in callbacks])
