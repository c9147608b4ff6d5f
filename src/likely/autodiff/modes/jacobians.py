r"""The Jacobians of the steps, and the two ways to multiply them.

A step $y = f(x, w)$ has an input Jacobian $\partial_x f \sim (c', c)$ and a weight Jacobian
$\partial_w f \sim (c', p)$; for tensors the axes of y come first, those of x or w after
(numerator layout). Forward mode with whole Jacobians multiplies them from the input to
the output, matrix by matrix: $\hat W_j \leftarrow [\partial h_i / \partial h_{i-1}]\, \hat W_j$ for
$j < i$ and $\hat W_i = \partial h_i / \partial w_i$. Reverse mode multiplies from the
output back, vector by matrix.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from likely.autodiff.modes.accumulated import Accumulated, accumulate
from likely.autodiff.program.program import INPUT, Program, Step
from likely.autodiff.program.text import array, shape, table
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace


@dataclass(frozen=True)
class Jacobian:
    """∂(one output of a step) / ∂(one of its inputs)."""

    step: Step
    output: int
    input: int
    kind: str
    """`weight` if the input is an argument other than x, else `input`."""
    shape: tuple[int, ...]
    """Axes of the output, then axes of the input."""
    value: np.ndarray | None = field(repr=False)
    """The entries; None where there would be too many."""


@dataclass(frozen=True)
class Jacobians:
    """The local Jacobians of every step."""

    trace: "Trace" = field(repr=False)
    local: tuple[Jacobian, ...]

    def of(self, output: str, by: str) -> np.ndarray | None:
        """The local Jacobian of one named value by another."""
        i, j = (self.trace.named(name).index for name in (output, by))
        for jacobian in self.local:
            if (jacobian.output, jacobian.input) == (i, j):
                return jacobian.value
        raise InputError(f"no step makes {output} directly from {by}.")

    def accumulate(self) -> Accumulated:
        """Forward mode with whole Jacobians: ∂hᵢ/∂wⱼ after every step i."""
        return accumulate(self.trace, self.local)

    def __str__(self) -> str:
        names = self.trace.names
        rows = [
            (
                j.step.number,
                self.trace.formula(j.step),
                f"∂{names[j.output]}/∂{names[j.input]}",
                j.kind,
                shape(j.shape),
                "too large" if j.value is None else array(j.value),
            )
            for j in self.local
        ]
        head = ("step", "computed as", "Jacobian", "kind", "shape", "entries")
        return table(head, rows)

    __repr__ = __str__


def local_jacobians(trace: "Trace", largest: int) -> Jacobians:
    """The Jacobian of each step by each of its active inputs, unless it is too large."""
    program, found = trace.program, []
    for step in trace.steps:
        for position in program.moving(step):
            for k, output in enumerate(program.inexact_outputs(step)):
                i = step.inputs[position]
                axes = program.values[output].shape + program.values[i].shape
                small = np.prod(axes) <= largest
                value = _jacobian(trace, step, position, k) if small else None
                found.append(Jacobian(step, output, i, _kind(program, i), axes, value))
    return Jacobians(trace, _merged(found))


def _kind(program: Program, i: int) -> str:
    value = program.values[i]
    last = value.name.replace("]", "").replace("[", ".").split(".")[-1]
    return "weight" if value.kind == INPUT and last.lower() != "x" else "input"


def _merged(found: list[Jacobian]) -> tuple[Jacobian, ...]:
    """The Jacobians with those of an input that a step reads twice added (x · x gives 2x)."""
    merged: dict[tuple[int, int, int], Jacobian] = {}
    for j in found:
        key = (j.step.number, j.output, j.input)
        if key in merged and j.value is not None:
            j = replace(j, value=merged[key].value + j.value)  # type: ignore[operator]
        merged[key] = j
    return tuple(merged.values())


def _jacobian(trace: "Trace", step: Step, position: int, k: int) -> np.ndarray:
    """∂(output k)/∂(input at position), computed column by column."""
    program = trace.program
    value = program.values[step.inputs[position]]
    basis = np.eye(value.size, dtype=value.dtype).reshape(value.size, *value.shape)
    inputs = [trace.values[i] for i in step.inputs]

    def columns(_, directions):
        push = lambda t: step.rule.push((position,), inputs, [t])[k]  # noqa: E731
        return jax.vmap(push, out_axes=-1)(directions)

    output = program.values[program.inexact_outputs(step)[k]]
    return trace.run(columns, basis).reshape(output.shape + value.shape)


def chain_product(
    jacobians: list[Any], order: str = "reverse"
) -> tuple[np.ndarray, int]:
    r"""The product $J_l \cdots J_1$ from one end or the other, and its multiply-adds.

    Args:
        jacobians: $J_l, \dots, J_1$ in the order of the product, the last step first.
        order: `reverse` multiplies from the left, so that a row vector stays one;
            `forward` multiplies from the right, so that a column vector stays one.
    """
    matrices = [np.atleast_2d(np.asarray(j)) for j in jacobians]
    if order not in ("forward", "reverse"):
        raise InputError(f"order={order!r} is unknown; give 'forward' or 'reverse'.")
    product, *rest = matrices if order == "reverse" else matrices[::-1]
    work = 0
    for matrix in rest:
        left, right = (product, matrix) if order == "reverse" else (matrix, product)
        work += left.shape[0] * left.shape[1] * right.shape[1]
        product = left @ right
    return product, work
