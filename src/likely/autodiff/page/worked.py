"""Formulas of steps with numbers in place of names, as in a worked example."""

from typing import TYPE_CHECKING, Any

import numpy as np

from likely.autodiff.program.formulas import STRUCTURE, formula, product_kind, rules
from likely.autodiff.program.program import Step
from likely.autodiff.program.text import array, nested, number

if TYPE_CHECKING:
    from likely.autodiff.modes.passes import Reverse
    from likely.autodiff.modes.trace import Trace

MAX_ENTRIES, MAX_TERMS = 6, 12
"""Larger arrays, and products with more terms, are not shown with numbers."""


def value(trace: "Trace", step: Step) -> str:
    """The formula of a step with numbers for names; "" if there are too many."""
    kind = product_kind(trace.program, step)
    if kind:
        return _product(*_matrices(trace, step, kind), _shape(trace, step.outputs[0]))
    if not _is_worked(trace, step):
        return ""
    return formula(trace.program, step, _numbers(trace, step))


def sent(trace: "Trace", reverse: "Reverse", step: Step, position: int) -> str:
    """The contribution of a step to one input's adjoint, with numbers for names."""
    kind = product_kind(trace.program, step)
    if not kind and not _is_worked(trace, step):
        return ""
    adjoint = reverse.adjoints[step.outputs[0]]
    if kind:
        a, b = _matrices(trace, step, kind)
        y = np.reshape(adjoint, (a.shape[0], b.shape[1]))
        left, right = (y, b.T) if position == 0 else (a.T, y)
        return _product(left, right, _shape(trace, step.inputs[position]))
    texts = rules(trace.program, step, _numbers(trace, step), _entries(adjoint))
    return texts[position]


def _is_worked(trace: "Trace", step: Step) -> bool:
    values = trace.program.values
    involved = [values[i] for i in (*step.inputs, *step.outputs)]
    small = all(v.size <= MAX_ENTRIES for v in involved) and len(step.outputs) == 1
    return small and step.name not in STRUCTURE


def _numbers(trace: "Trace", step: Step) -> dict[int, str]:
    return {i: _entries(trace.values[i]) for i in (*step.inputs, *step.outputs)}


def _entries(data: Any) -> str:
    text = array(data, MAX_ENTRIES)
    return f"({text})" if text.startswith("-") else text


def _shape(trace: "Trace", i: int) -> tuple[int, ...]:
    return trace.program.values[i].shape


def _matrices(trace: "Trace", step: Step, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Both factors as matrices: a vector on the left is a row, on the right a column."""
    a, b = (np.asarray(trace.values[i]) for i in step.inputs)
    return (a[None] if kind[0] == "1" else a), (b[:, None] if kind[1] == "1" else b)


def _product(a: np.ndarray, b: np.ndarray, shape: tuple[int, ...]) -> str:
    """Every entry of a @ b as its sum of products."""
    if a.size * b.shape[1] > MAX_TERMS:
        return ""
    entries = [
        " + ".join(
            f"{_factor(x)}·{_factor(y)}" for x, y in zip(row, column, strict=True)
        )
        for row in a
        for column in b.T
    ]
    return nested(np.array(entries, dtype=object).reshape(shape), str)


def _factor(x: Any) -> str:
    return f"({number(x)})" if x < 0 else number(x)
