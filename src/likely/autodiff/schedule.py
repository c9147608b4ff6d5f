r"""When each value is made, kept, made again and forgotten in reverse mode.

Cuts divide the steps into segments. On the way forward only the values that cross a cut
are kept. On the way back each segment is computed again from the kept values, except
for what no derivative reads, then its adjoints are pulled and its values forgotten.
A cut after every step keeps everything: plain reverse mode.
"""

from collections.abc import Iterable
from typing import NamedTuple

from likely.autodiff.program import Program, Step

FORWARD, RECOMPUTE, BACKWARD = "forward", "recompute", "backward"


class Event(NamedTuple):
    """One step run in one direction."""

    kind: str
    """`forward`, `recompute` or `backward`."""
    step: int
    """Its number."""
    forget: tuple[int, ...]
    """Values that nothing reads any more."""
    live: int
    """Bytes of values and adjoints held right after it, before forgetting."""


class Schedule(NamedTuple):
    """What happens, in order."""

    events: tuple[Event, ...]
    kept: tuple[int, ...]
    """Values held when the forward pass ends."""

    @property
    def peak(self) -> int:
        """The most bytes held at once, arguments and their gradient not counted."""
        return max((event.live for event in self.events), default=0)

    def steps(self, kind: str) -> list[int]:
        """The steps run in this way."""
        return [event.step for event in self.events if event.kind == kind]


def even_cuts(n_steps: int, segments: int) -> tuple[int, ...]:
    """The last steps of equally long segments."""
    return tuple(round(n_steps * k / segments) for k in range(1, segments + 1))


def schedule(program: Program, cuts: Iterable[int]) -> Schedule:
    """Plan reverse mode with these cuts (a cut stands after the step it names)."""
    return _Planner(program, tuple(sorted({*cuts, len(program.steps)}))).plan()


class _Planner:
    """Follows what is held in memory."""

    def __init__(self, program: Program, cuts: tuple[int, ...]):
        self.program, self.cuts = program, cuts
        self.made = {v: s.number for s in program.steps for v in s.outputs}
        self.last = program.last_use()
        self.held: dict[str, set[int]] = {"value": set(), "adjoint": set()}
        self.events: list[Event] = []

    def plan(self) -> Schedule:
        kept = {v for v in self.made if self._crosses_a_cut(v)}
        for step in self.program.steps:
            gone = {v for v in self.held["value"] if self.last.get(v, 0) <= step.number}
            self._record(FORWARD, step, made=step.outputs, gone=gone - kept)
        self.held["value"] &= kept
        self.held["adjoint"] |= self.program.active.intersection(self.program.outputs)
        first = (0, *self.cuts)
        for low, high in reversed(list(zip(first, self.cuts, strict=False))):
            self._back(self.program.steps[low:high])
        return Schedule(tuple(self.events), tuple(sorted(kept)))

    def _crosses_a_cut(self, v: int) -> bool:
        return any(self.made[v] <= cut < self.last.get(v, 0) for cut in self.cuts)

    def _back(self, segment: tuple[Step, ...]) -> None:
        pulled = [s for s in segment if self._is_pulled(s)]
        needed = {v for s in pulled for v in s.inputs if v in self.made}
        again = []
        for step in reversed(segment):
            if needed.intersection(step.outputs) - self.held["value"]:
                again.append(step)
                needed.update(v for v in step.inputs if v in self.made)
        for step in reversed(again):
            self._record(RECOMPUTE, step, made=step.outputs, gone=set())
        for step in reversed(pulled):
            positions = self.program.moving(step)
            received = [
                step.inputs[p] for p in positions if step.inputs[p] in self.made
            ]
            self._record(BACKWARD, step, adjoints=received, gone=set(step.outputs))
            self.held["adjoint"] -= set(step.outputs)
        self.held["value"] -= {v for s in segment for v in s.outputs}

    def _is_pulled(self, step: Step) -> bool:
        return bool(
            self.program.moving(step) and self.program.active.intersection(step.outputs)
        )

    def _record(self, kind: str, step: Step, *, made=(), adjoints=(), gone=()) -> None:
        self.held["value"].update(made)
        self.held["adjoint"].update(adjoints)
        values = self.program.values
        live = sum(values[v].nbytes for held in self.held.values() for v in held)
        self.held["value"] -= set(gone)
        self.events.append(Event(kind, step.number, tuple(sorted(gone)), live))
