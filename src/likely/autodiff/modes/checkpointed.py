"""Checkpointed reverse mode: keep some values and recompute the rest."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from likely.autodiff.modes.forward_reverse import pull_step
from likely.autodiff.modes.schedule import BACKWARD, FORWARD, RECOMPUTE, Schedule
from likely.autodiff.program.program import Data, Program
from likely.autodiff.program.text import count, table

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace


@dataclass(frozen=True)
class Checkpointed:
    """The gradient, with the stored values and the recomputed steps."""

    trace: "Trace" = field(repr=False)
    schedule: Schedule = field(repr=False)
    plain: Schedule = field(repr=False)
    """The schedule of plain reverse mode, for comparison."""
    adjoints: Data = field(repr=False)
    measured_peak: int
    """The peak memory of values and adjoints in bytes, measured during the run."""

    @property
    def gradient(self) -> Any:
        """The gradient, shaped like the arguments."""
        return self.trace.shaped_like_arguments(self.adjoints)

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the stored values."""
        return tuple(self.trace.names[i] for i in self.schedule.kept)

    @property
    def recomputed(self) -> tuple[int, ...]:
        """The numbers of the recomputed steps."""
        return tuple(self.schedule.steps(RECOMPUTE))

    @property
    def forward_work(self) -> float:
        """The number of forward steps run, divided by the number of steps."""
        return 1 + len(self.recomputed) / max(len(self.trace.steps), 1)

    def total_work(self, backward: float = 2.0) -> float:
        """Forward and backward work, relative to plain reverse mode.

        Args:
            backward: the cost of a backward step, in forward steps.
        """
        return (self.forward_work + backward) / (1 + backward)

    @property
    def memory(self) -> float:
        """Peak memory, relative to plain reverse mode."""
        return self.schedule.peak / max(self.plain.peak, 1)

    def __str__(self) -> str:
        rows = [
            ("values kept", len(self.plain.kept), len(self.schedule.kept)),
            ("bytes kept", self._bytes(self.plain), self._bytes(self.schedule)),
            ("peak bytes", count(self.plain.peak), count(self.schedule.peak)),
            ("steps forward", *(_forward(s) for s in (self.plain, self.schedule))),
            (
                "steps back",
                *(len(s.steps(BACKWARD)) for s in (self.plain, self.schedule)),
            ),
        ]
        sentence = (
            f"forward work {self.forward_work:.2f} times, "
            f"peak memory {self.memory:.2f} times that of plain reverse mode"
        )
        return table(("", "reverse", "checkpointed"), rows) + f"\n{sentence}"

    __repr__ = __str__

    def _bytes(self, schedule: Schedule) -> str:
        values = self.trace.program.values
        return count(sum(values[i].nbytes for i in schedule.kept))


def _forward(schedule: Schedule) -> int:
    return len(schedule.steps(FORWARD)) + len(schedule.steps(RECOMPUTE))


def follow(
    schedule: Schedule, program: Program, inputs: tuple[Any, ...], cotangents: Data
) -> tuple[Data, int]:
    """Run a schedule with the memory that it plans; return adjoints and peak bytes."""
    base = dict(zip(program.inputs, inputs, strict=True)) | program.constants
    made: Data = {}
    adjoints: Data = {}
    peak, n_forward = 0, len(schedule.steps(FORWARD))
    for k, event in enumerate(schedule.events):
        step = program.steps[event.step - 1]
        if k == n_forward:
            adjoints |= cotangents
        if event.kind == BACKWARD:
            pull_step(program, step, base | made, adjoints)
        else:
            env = [made.get(i, base.get(i)) for i in step.inputs]
            made |= zip(step.outputs, step.rule.evaluate(env), strict=True)
        inner = [a for i, a in adjoints.items() if i not in base]
        peak = max(peak, sum(a.nbytes for a in [*made.values(), *inner]))
        for i in event.forget:
            made.pop(i, None)
        if event.kind == BACKWARD:
            for i in step.outputs:
                adjoints.pop(i, None)
    return {i: a for i, a in adjoints.items() if i in program.variables}, peak
