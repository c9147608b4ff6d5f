"""A function as a list of steps: a jaxpr in readable form.

Values are numbered; a step computes new ones from earlier ones. That is the evaluation
trace $h_1 = f_1(x, w_1)$, $h_i = f_i(h_{i-1}, w_i)$, in which any earlier value, not only
the last one, may be an input.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likely.autodiff.program.rules import Rule, is_inexact
from likely.autodiff.program.source import Stack, Where, where

Data = dict[int, Any]
"""Data by the number of the value."""
INPUT, CONSTANT, LITERAL, STEP = "input", "constant", "literal", "step"
RESULT = "result"
"""The name of the returned value, if it has none in the source."""


@dataclass(frozen=True)
class Value:
    """A number or array of the program."""

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: Any
    kind: str
    """`input`, `constant` (closed over), `literal` or `step`."""
    named: bool = True
    """Whether the name comes from the source (else it is v7, the result of step 7)."""

    @property
    def is_inexact(self) -> bool:
        """Whether it can have a derivative."""
        return is_inexact(self.dtype)

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Memory, in bytes."""
        return self.size * getattr(self.dtype, "itemsize", 8)


@dataclass(frozen=True)
class Step:
    """One application of a primitive."""

    number: int
    """The number of the step, from 1."""
    name: str
    """The primitive, or the function that was called."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: dict[str, Any]
    rule: Rule
    stack: Stack = field(repr=False)
    """The call stack of the step."""
    scope: tuple[str, ...] = ()
    """The loops and branches it was unrolled from."""

    @property
    def where(self) -> Where | None:
        """The location of the step in the user's source."""
        return where(self.stack.user_frames)


@dataclass(frozen=True)
class Program:
    """A list of steps on numbered values."""

    values: tuple[Value, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: dict[int, Any]
    """The data of constants and literals."""
    variables: frozenset[int]
    """The inputs that derivatives are taken with respect to."""
    known: dict[int, Any] = field(default_factory=dict)
    """The data that was computed while the program was unrolled."""
    varied: frozenset[int] = field(init=False)
    """The values that depend differentiably on a variable."""
    useful: frozenset[int] = field(init=False)
    """The values that an output depends on."""

    def __post_init__(self):
        varied, useful = set(self.variables), set(self.outputs)
        for step in self.steps:
            if step.name != "stop_gradient" and varied.intersection(step.inputs):
                varied.update(i for i in step.outputs if self.values[i].is_inexact)
        for step in reversed(self.steps):
            if useful.intersection(step.outputs):
                useful.update(step.inputs)
        object.__setattr__(self, "varied", frozenset(varied))
        object.__setattr__(self, "useful", frozenset(useful))

    @property
    def active(self) -> frozenset[int]:
        """The values on a path from a variable to an output: those with an adjoint."""
        return self.varied & self.useful

    def moving(self, step: Step) -> tuple[int, ...]:
        """The positions of the inputs of a step that carry a derivative."""
        if not self.varied.intersection(step.outputs):
            return ()
        return tuple(i for i, v in enumerate(step.inputs) if v in self.varied)

    def inexact_outputs(self, step: Step) -> tuple[int, ...]:
        """The outputs of a step that can carry a derivative."""
        return tuple(v for v in step.outputs if self.values[v].is_inexact)

    def last_use(self) -> dict[int, int]:
        """The number of the last step that reads each value; outputs are kept."""
        last = {v: step.number for step in self.steps for v in step.inputs}
        return last | dict.fromkeys(self.outputs, len(self.steps) + 1)

    def users(self) -> dict[int, list[Step]]:
        """The steps that read each value."""
        users: dict[int, list[Step]] = {v.index: [] for v in self.values}
        for step in self.steps:
            for v in dict.fromkeys(step.inputs):
                users[v].append(step)
        return users

    def makers(self) -> dict[int, Step]:
        """The step that computes each value."""
        return {v: step for step in self.steps for v in step.outputs}
