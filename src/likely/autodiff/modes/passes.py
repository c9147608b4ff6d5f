"""The results of forward and reverse mode: the tangent or adjoint of every value."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likely.autodiff.modes.forward_reverse import Data
from likely.autodiff.page.layout import Graph, graph
from likely.autodiff.page.page import embedded
from likely.autodiff.program.program import Step
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
        program = self.trace.program
        found = [self.tangents.get(i) for i in program.outputs]
        zeros = [np.zeros_like(self.trace.values[i]) for i in program.outputs]
        return self.trace.shaped_like_output(
            [z if t is None else t for t, z in zip(found, zeros, strict=True)]
        )

    def graph(self) -> Graph:
        """The values as boxes with their tangents, for a picture."""
        return graph(self.trace, forward=self)

    def tangent(self, name: str) -> Any:
        """The tangent of the value with this name."""
        return self.tangents[self.trace.named(name).index]

    def __str__(self) -> str:
        return table(
            ("step", "value", "computed as", "result", "tangent"),
            (
                (
                    step.number,
                    self.trace.names[i],
                    self.trace.formula(step),
                    array(self.trace.values[i]),
                    array(self.tangents[i]) if i in self.tangents else "",
                )
                for step in self.trace.steps
                for i in step.outputs
            ),
        )


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
        names = self.trace.names
        return table(
            ("step", "value", "its adjoint", "sends", "to"),
            (
                (
                    step.number if first else "",
                    names[step.outputs[0]] if first else "",
                    array(self.adjoints.get(step.outputs[0])) if first else "",
                    array(part),
                    names[step.inputs[position]],
                )
                for step in self.steps
                for first, (position, part) in _marked(self.sent[step.number])
            ),
        )

    def _repr_html_(self) -> str:
        return embedded(self.trace, self)


def _marked(parts: Data) -> list[tuple[bool, tuple[int, Any]]]:
    return [(k == 0, part) for k, part in enumerate(parts.items())]
