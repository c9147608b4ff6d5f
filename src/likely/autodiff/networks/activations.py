"""Find the activation of a layer: the value computed from its weighted sum z alone."""

from typing import Any

from likely.autodiff.program.calls import inner_jaxpr
from likely.autodiff.program.formulas import ELEMENTWISE
from likely.autodiff.program.program import LITERAL, Program, Step


def activation(program: Program, z: int) -> int:
    """The last value computed from z alone, with the shape of z, before the loss begins.

    Every path from z to the result leads through it. Steps that use y or another array
    come after it, and so do the logarithms and squares of a loss.
    """
    made, a = {z}, z
    alone = {v.index for v in program.values if v.kind == LITERAL}
    last = program.last_use()
    for step in program.steps:
        if not made.intersection(step.inputs):
            if alone.issuperset(step.inputs):
                alone.update(step.outputs)
            continue
        if not (made | alone).issuperset(step.inputs) or _begins_a_loss(program, step):
            break
        made.update(step.outputs)
        (v, *_) = step.outputs
        narrow = all(last.get(i, 0) <= step.number for i in made - {v})
        if narrow and program.values[v].shape == program.values[z].shape:
            a = v
    return a


def _begins_a_loss(program: Program, step: Step) -> bool:
    """Whether a step is log p, log softmax, r² or |r|; log(1 + eᶻ) is an activation."""
    if step.name == "log":
        maker = program.makers().get(step.inputs[0])
        return maker is None or maker.name not in ("add", "abs")
    power = step.name == "integer_pow" and step.params["y"] == 2
    twice = step.name == "mul" and len(set(step.inputs)) == 1
    return power or twice or step.name in ("square", "abs", "log_softmax", "logsumexp")


def ancestors(program: Program, i: int) -> set[int]:
    """The values that a value depends on, including itself."""
    found = {i}
    for step in reversed(program.steps):
        if found.intersection(step.outputs):
            found.update(step.inputs)
    return found


def path_between(program: Program, z: int, a: int) -> list[Step]:
    """The steps that lead from z to a."""
    before, after = ancestors(program, a), {z}
    path = []
    for step in program.steps:
        if after.intersection(step.inputs) and before.intersection(step.outputs):
            after.update(step.outputs)
            path.append(step)
    return path


def acts_elementwise(equation: Any) -> bool:
    """Whether a step, with everything inside it, acts elementwise.

    Args:
        equation: a step, or an equation inside one.
    """
    primitive = getattr(equation, "rule", equation).primitive.name
    inner, _ = inner_jaxpr(equation)
    if inner is not None and primitive not in ("scan", "while", "cond"):
        return all(map(acts_elementwise, inner.eqns))
    return primitive in _ELEMENTWISE_PRIMITIVES


_ELEMENTWISE_PRIMITIVES = frozenset(ELEMENTWISE) | frozenset(
    """integer_pow convert_element_type clamp erfc erf_inv asinh acosh atanh atan2
    broadcast_in_dim copysign nextafter""".split()  # noqa: SIM905
)
"""A broadcast is of a scalar here: with the axes of z, a would have another shape."""
