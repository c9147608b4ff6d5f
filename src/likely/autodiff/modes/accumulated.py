"""Forward mode with whole Jacobians, multiplied from the inputs to the output."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from likely.autodiff.program.text import array, count, shape, table
from likely.core.checks import InputError
from likely.core.tensors import contract

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


def accumulate(trace: "Trace", local: tuple["Jacobian", ...]) -> Accumulated:
    """Multiply the local Jacobians from the inputs to the output."""
    if any(j.value is None for j in local):
        raise InputError(
            "some Jacobians are too large to multiply; trace a smaller example, or "
            "raise largest."
        )
    values, outputs = trace.program.values, set(trace.program.outputs)
    totals: dict[tuple[int, int], Any] = {}
    for w in sorted(trace.program.variables):
        totals[w, w] = np.eye(values[w].size).reshape(values[w].shape * 2)
    forward = backward = 0
    with jax.enable_x64(trace.arguments.double):
        for j in local:
            for w in sorted(trace.program.variables):
                if j.value is not None and (j.input, w) in totals:
                    part = contract(
                        j.value, totals[j.input, w], len(values[j.input].shape)
                    )
                    earlier = totals.get((j.output, w), 0.0)
                    totals[j.output, w] = np.asarray(earlier + part)
                    known = j.input == w  # times the identity: nothing to multiply
                    forward += 0 if known else int(np.prod(j.shape)) * values[w].size
            backward += int(np.prod(j.shape)) * sum(values[i].size for i in outputs)
    return Accumulated(trace, totals, forward, backward)
