r"""The schedule of reverse mode: when each value is computed, stored and released.

Cuts divide the steps into segments. The forward pass stores only the values that cross a
cut. The backward pass recomputes each segment from the stored values (except for values
that no derivative needs), propagates its adjoints and releases its values. With a cut
after every step everything is stored: plain reverse mode.
"""

from collections.abc import Iterable
from typing import NamedTuple

from likely.autodiff.program.program import Program, Step

FORWARD, RECOMPUTE, BACKWARD = "forward", "recompute", "backward"


class Event(NamedTuple):
    """One run of a step, forward or backward."""

    kind: str
    """`forward`, `recompute` or `backward`."""
    step: int
    """The number of the step."""
    forget: tuple[int, ...]
    """The values that are not needed any more."""
    live: int
    """The memory of values and adjoints right after it, in bytes."""


class Schedule(NamedTuple):
    """The events of a run, in order."""

    events: tuple[Event, ...]
    kept: tuple[int, ...]
    """The values stored at the end of the forward pass."""

    @property
    def peak(self) -> int:
        """Peak memory in bytes, without the arguments and their gradient."""
        return max((event.live for event in self.events), default=0)

    def steps(self, kind: str) -> list[int]:
        """The numbers of the steps with this kind of event."""
        return [event.step for event in self.events if event.kind == kind]


def even_cuts(n_steps: int, segments: int) -> tuple[int, ...]:
    """The last steps of equally long segments."""
    return tuple(round(n_steps * k / segments) for k in range(1, segments + 1))


def schedule(program: Program, cuts: Iterable[int]) -> Schedule:
    """Plan reverse mode with these cuts, each after the step with this number."""
    return _Planner(program, tuple(sorted({*cuts, len(program.steps)}))).plan()


class _Planner:
    """Simulates the memory of a run to plan its events."""

    def __init__(self, program: Program, cuts: tuple[int, ...]):
        self.program, self.cuts = program, cuts
        self.made = {v: s.number for s in program.steps for v in s.outputs}
        self.last = program.last_use()
        self.in_memory: dict[str, set[int]] = {"value": set(), "adjoint": set()}
        self.events: list[Event] = []

    def plan(self) -> Schedule:
        kept = {v for v in self.made if self._crosses_a_cut(v)}
        for step in self.program.steps:
            released = {
                v for v in self.in_memory["value"] if self.last.get(v, 0) <= step.number
            }
            self._record(FORWARD, step, made=step.outputs, released=released - kept)
        self.in_memory["value"] &= kept
        self.in_memory["adjoint"] |= self.program.active.intersection(
            self.program.outputs
        )
        first = (0, *self.cuts)
        for low, high in reversed(list(zip(first, self.cuts, strict=False))):
            self._back(self.program.steps[low:high])
        return Schedule(tuple(self.events), tuple(sorted(kept)))

    def _crosses_a_cut(self, v: int) -> bool:
        return any(self.made[v] <= cut < self.last.get(v, 0) for cut in self.cuts)

    def _back(self, segment: tuple[Step, ...]) -> None:
        differentiated = [s for s in segment if self._has_adjoint(s)]
        needed = {v for s in differentiated for v in s.inputs if v in self.made}
        again = []
        for step in reversed(segment):
            if needed.intersection(step.outputs) - self.in_memory["value"]:
                again.append(step)
                needed.update(v for v in step.inputs if v in self.made)
        for step in reversed(again):
            self._record(RECOMPUTE, step, made=step.outputs, released=set())
        for step in reversed(differentiated):
            positions = self.program.moving(step)
            received = [
                step.inputs[p] for p in positions if step.inputs[p] in self.made
            ]
            self._record(BACKWARD, step, adjoints=received, released=set(step.outputs))
            self.in_memory["adjoint"] -= set(step.outputs)
        self.in_memory["value"] -= {v for s in segment for v in s.outputs}

    def _has_adjoint(self, step: Step) -> bool:
        return bool(
            self.program.moving(step) and self.program.active.intersection(step.outputs)
        )

    def _record(
        self, kind: str, step: Step, *, made=(), adjoints=(), released=()
    ) -> None:
        self.in_memory["value"].update(made)
        self.in_memory["adjoint"].update(adjoints)
        values = self.program.values
        live = sum(
            values[v].nbytes for in_memory in self.in_memory.values() for v in in_memory
        )
        self.in_memory["value"] -= set(released)
        self.events.append(Event(kind, step.number, tuple(sorted(released)), live))
