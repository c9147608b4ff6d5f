"""Callbacks of a fit that is one program, which runs before they are called.

So they cannot change a number of it. Where one asks to stop after k steps, the program is
run again with that limit: a function of the same rows, it takes the same k steps. A limit
that is known in advance, `StepLimit`, is that of the program.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import numpy as np

from likely.base.training.members import Network
from likely.solvers.training.events import Callback, Event, StepLimit, notify
from likely.typing import CALLED_OFF, STEP_LIMIT, TRAINED, Solution


class Epochs(NamedTuple):
    """How the steps of a program are counted."""

    steps: int = 1
    """Steps of an epoch: 1 where all rows are used at once."""
    limit: int = 0
    """The step limit."""
    per_look: int = 1
    """Epochs between looks at the validation rows."""
    points: bool = True
    """Whether the trace has the start as well, as that of L-BFGS has."""


def replay(
    phi: Network,
    callbacks: tuple[Callback, ...],
    run: Callable[[int], Network],
    epochs: Epochs,
) -> Network:
    """φ, after the callbacks were notified of every epoch that led to it.

    Args:
        phi: what was found, with a leading axis of members.
        callbacks: functions of an `Event`; one that returns True ends the fit there.
        run: the fit with another limit on the number of steps.
        epochs: how its steps are counted.
    """
    if not callbacks:
        return phi
    members, last = len(phi.solution.loss), int(np.max(phi.solution.status.steps))
    start = Event("start", members=members, running=members, steps=epochs.limit)
    stopped, step = notify(callbacks, start), 0
    while not stopped and step < last:
        step = min(step + epochs.steps, last)
        for event in _events(phi.solution, step, epochs):
            stopped |= notify(callbacks, event)
    if stopped and step < last:
        phi = _called_off(run(step))
    message = str(phi.solution.status)
    notify(callbacks, Event("stop", step=step, message=message, running=0))
    return phi


def known_limit(callbacks: tuple[Callback, ...], epochs: Epochs) -> int | None:
    """After how many steps a callback is known to end the fit; None where none is.

    Args:
        callbacks: of the fit.
        epochs: how its steps are counted.
    """
    limits = [c.steps for c in callbacks if isinstance(c, StepLimit)]
    whole = [epochs.steps * -(-max(limit, 1) // epochs.steps) for limit in limits]
    return min((steps for steps in whole if steps < epochs.limit), default=None)


def _events(solution: Solution, step: int, epochs: Epochs) -> list[Event]:
    """The events after a step; members that have ended keep their last numbers."""
    trace, steps = solution.trace, np.asarray(solution.status.steps)
    reached = np.minimum(step, steps)
    each, length = np.arange(len(steps)), np.shape(trace.loss)[-1]
    at = _entries(reached, epochs, length)
    taken = np.maximum(at - 1, 0) if epochs.points else at
    event = Event(
        "epoch",
        step=step,
        steps=epochs.limit,
        epoch=step / epochs.steps,
        loss=float(np.mean(np.asarray(trace.loss)[each, at])),
        gradient=float(np.max(np.asarray(trace.gradient)[each, at])),
        rate=float(np.mean(np.asarray(trace.step)[each, taken])),
        running=int((steps > step).sum()),
        members=len(steps),
    )
    looks = reached // (epochs.steps * epochs.per_look)
    if trace.validation is None or not looks.all():
        return [event]
    runs = [np.asarray(v)[:k] for v, k in zip(trace.validation, looks, strict=True)]
    latest = float(np.mean([run[-1] for run in runs]))
    lowest = float(np.mean([run.min() for run in runs]))
    event = replace(event, validation=latest, best=lowest)
    due = step % (epochs.steps * epochs.per_look) == 0
    return [event, replace(event, kind="validation")] if due else [event]


def _entries(steps: np.ndarray, epochs: Epochs, length: int) -> np.ndarray:
    """Which entries of a trace of this length belong to so many steps."""
    if epochs.points:
        return np.minimum(steps, length - 1)
    stride = 1 + max(epochs.limit - 1, 0) // (length - 1)
    return np.maximum(steps - 1, 0) // stride


def _called_off(phi: Network) -> Network:
    """φ whose members that reached the limit were stopped by a callback."""
    reason = np.asarray(phi.solution.status.reason)
    ended = np.isin(reason, (STEP_LIMIT, TRAINED))
    reason = np.where(ended, CALLED_OFF, reason).astype(reason.dtype)
    return eqx.tree_at(lambda p: p.solution.status.reason, phi, reason)
