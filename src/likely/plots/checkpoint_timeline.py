"""Checkpointing over time: which steps run when, and the memory in use."""

from typing import Any, Protocol, runtime_checkable

from matplotlib.figure import Figure

from likely.plots.style import COLOURS, INK, SOFT, figure

KINDS = {"forward": COLOURS[0], "recompute": COLOURS[4], "backward": COLOURS[1]}


@runtime_checkable
class Scheduled(Protocol):
    """A run with a schedule and the plain schedule to compare with: `Checkpointed`."""

    schedule: Any
    plain: Any
    forward_work: float


def checkpoint_timeline(run: Scheduled) -> Figure:
    """Draw a checkpointed run: its events over time, and its memory next to the plain run.

    Args:
        run: a result of `Trace.checkpointed`.
    """
    drawn, (left, right) = figure(8.4, 3.2, columns=2)
    events = run.schedule.events
    for kind, colour in KINDS.items():
        at = [k for k, event in enumerate(events) if event.kind == kind]
        steps = [events[k].step for k in at]
        left.scatter(at, steps, marker="s", s=22, color=colour, label=kind)
    left.set(xlabel="time", ylabel="step")
    left.set_title(f"forward work {run.forward_work:.2f} times", loc="left", color=INK)
    left.legend(frameon=False, fontsize="small")
    for schedule, colour, label in (
        (run.plain, SOFT, "everything kept"),
        (run.schedule, COLOURS[0], "checkpoints kept"),
    ):
        live = [event.live for event in schedule.events]
        right.step(range(len(live)), live, where="mid", color=colour, label=label)
    right.set(xlabel="time", ylabel="bytes in use", ylim=(0, None))
    right.set_title("memory", loc="left", color=INK)
    right.legend(frameon=False, fontsize="small")
    return drawn
