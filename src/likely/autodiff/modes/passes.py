"""The results of forward and reverse mode: the tangent or adjoint of every value."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likely.autodiff.page.layout import Graph, graph
from likely.autodiff.page.page import embedded
from likely.autodiff.program.program import Data, Step
from likely.autodiff.program.text import array, table

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace


@dataclass(frozen=True)
class Forward:
    """Forward mode: the tangent of each value along a direction of the inputs."""

    trace: "Trace" = field(repr=False)
    tangents: Data = field(repr=False)
    """The tangents by the number of the value."""

    @property
    def output(self) -> Any:
        """The tangent of the result, shaped like the result: the directional derivative."""
        values, outputs = self.trace.values, self.trace.program.outputs
        return self.trace.shaped_like_output(
            [self.tangents.get(i, np.zeros_like(values[i])) for i in outputs]
        )

    def graph(self) -> Graph:
        """The values as boxes with their tangents, for a picture."""
        return graph(self.trace, forward=self)

    def tangent(self, name: str) -> Any:
        """The tangent of the value with this name."""
        return self.tangents[self.trace.named(name).index]

    def __str__(self) -> str:
        rows = self.trace.rows(self.tangents)
        head = ("step", "value", "computed as", "result", "tangent")
        return table(head, ((*row[:3], *row[4:6]) for row in rows))

    __repr__ = __str__


@dataclass(frozen=True)
class Reverse:
    """Reverse mode: the adjoint of each value, ∂result/∂value."""

    trace: "Trace" = field(repr=False)
    adjoints: Data = field(repr=False)
    """The adjoints by the number of the value."""
    sent: dict[int, Data] = field(repr=False)
    """The contribution of each step to the adjoints of its inputs, by step and position."""

    @property
    def gradient(self) -> Any:
        """The gradient: the adjoints of the arguments, shaped like them (as `jax.grad`)."""
        values = self.trace.values
        return self.trace.shaped_like_arguments(
            {
                i: self.adjoints.get(i, np.zeros_like(values[i]))
                for i in self.trace.program.variables
            }
        )

    @property
    def steps(self) -> list[Step]:
        """The steps that an adjoint passed through, last first."""
        return [s for s in reversed(self.trace.steps) if s.number in self.sent]

    def graph(self) -> Graph:
        """The values as boxes with their adjoints, for a picture."""
        return graph(self.trace, self)

    def adjoint(self, name: str) -> Any:
        """The adjoint of the value with this name."""
        return self.adjoints[self.trace.named(name).index]

    def __str__(self) -> str:
        names, rows = self.trace.names, []
        for step in self.steps:
            y = step.outputs[0]
            first = (step.number, names[y], array(self.adjoints.get(y)))
            for position, part in self.sent[step.number].items():
                rows.append((*first, array(part), names[step.inputs[position]]))
                first = ("", "", "")
        return table(("step", "value", "its adjoint", "sends", "to"), rows)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return embedded(self.trace, self)
