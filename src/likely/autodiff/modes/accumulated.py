"""Forward mode with whole Jacobians, multiplied from the inputs to the output."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likely.autodiff.program.text import array, count, shape, table
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.modes.jacobians import Jacobian
    from likely.autodiff.modes.trace import Trace


@dataclass(frozen=True)
class Accumulated:
    """∂hᵢ/∂wⱼ for every value and variable, and the number of multiplications."""

    trace: "Trace" = field(repr=False)
    totals: dict[tuple[int, int], np.ndarray] = field(repr=False)
    """The Jacobians by (value, variable)."""
    multiply_adds: int
    """The multiply-adds of these matrix-matrix products."""
    reverse_multiply_adds: int
    """The multiply-adds of the vector-matrix products of reverse mode."""

    def of(self, value: str, by: str) -> np.ndarray:
        """The Jacobian ∂value/∂by, by the names of the two."""
        return self.totals[self.trace.named(value).index, self.trace.named(by).index]

    def __str__(self) -> str:
        names = self.trace.names
        makers = self.trace.program.makers()
        rows = [
            (
                makers[i].number,
                f"∂{names[i]}/∂{names[w]}",
                shape(total.shape),
                array(total),
            )
            for (i, w), total in self.totals.items()
            if i in makers
        ]
        cost = (
            f"{count(self.multiply_adds)} multiply-adds forward, "
            f"{count(self.reverse_multiply_adds)} in reverse"
        )
        return table(("step", "tangent", "shape", "entries"), rows) + f"\n{cost}"

    __repr__ = __str__


def accumulate(trace: "Trace", local: tuple["Jacobian", ...]) -> Accumulated:
    """Multiply the local Jacobians from the inputs to the output."""
    if any(j.value is None for j in local):
        raise InputError(
            "some Jacobians are too large to multiply; trace a smaller example, or "
            "raise largest."
        )
    values, variables = trace.program.values, sorted(trace.program.variables)
    n_outputs = sum(values[i].size for i in set(trace.program.outputs))
    totals: dict[tuple[int, int], Any] = {}
    for w in variables:
        identity = np.eye(values[w].size, dtype=values[w].dtype)
        totals[w, w] = identity.reshape(values[w].shape * 2)
    forward = backward = 0
    for j in local:
        entries, axes = math.prod(j.shape), len(values[j.input].shape)
        for w in variables:
            if j.value is not None and (j.input, w) in totals:
                part = np.tensordot(j.value, totals[j.input, w], axes)
                totals[j.output, w] = totals.get((j.output, w), 0.0) + part
                known = j.input == w  # times the identity: nothing to multiply
                forward += 0 if known else entries * values[w].size
        backward += entries * n_outputs
    return Accumulated(trace, totals, forward, backward)
