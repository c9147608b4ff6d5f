"""The formula of each quantity of a layer: z, a, δ and the gradients."""

import re
from typing import TYPE_CHECKING

from likely.autodiff.networks.activations import acts_elementwise
from likely.autodiff.networks.layers import FoundLayer, superscript
from likely.autodiff.program.formulas import formula
from likely.autodiff.program.program import Step

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace


def is_elementwise(path: list[Step]) -> bool:
    """Whether there are steps from z to a, and all of them act elementwise."""
    return bool(path) and all(map(acts_elementwise, path))


def _delta(path: list[Step], j: str, into: str) -> str:
    if not path:
        return f"∂L/∂a{j}, since a{j} = z{j}"
    if is_elementwise(path):
        return f"σ'(z{j}) ⊙ {into}"
    return f"{into}, through the Jacobian of a{j} by z{j}"


def activation_name(trace: "Trace", path: list[Step], z: int, letter: str) -> str:
    """The name of an activation, or its formula where it has several steps."""
    steps = [step.name for step in path]
    if len(steps) < 2:
        return steps[0] if steps else "identity"
    if steps[-1] == "div" and {"exp", "reduce_sum"} <= set(steps):
        return "softmax"
    if not is_elementwise(path):
        return " then ".join(steps)
    names, text = dict(enumerate(trace.names)) | {z: letter}, letter
    for step in path:
        names[step.outputs[0]] = text = formula(trace.program, step, names)
        if " " in re.sub(r"\(.*\)", "", text):  # a sum or product, not f(...)
            names[step.outputs[0]] = f"({text})"
    return text


def formulas(
    trace: "Trace",
    found: FoundLayer,
    after: tuple[list[Step], int],
    number: int,
    count: int,
) -> dict[str, str]:
    """The formula of every quantity of a layer; `after` is (path from z to a, a)."""
    path, a = after
    i, j, k = (superscript(n) for n in (number - 1, number, number + 1))
    z, before = f"z{j}", f"a{i}" if number > 1 else "x"
    transposed = f"({before})ᵀ" if number > 1 else "xᵀ"
    if found.weight_first:  # z = W a + b for one example, or for columns
        product, back, weight = f"W{j} {before}", f"(W{k})ᵀ δ{k}", f"δ{j} {transposed}"
    else:  # Z = A W + b for rows of examples
        product, back, weight = f"{before} W{j}", f"δ{k} (W{k})ᵀ", f"{transposed} δ{j}"
    if number == count:
        back = f"the derivative of the loss by a{j}"
    elif not _is_read_by_a_product(trace, a):
        back = f"what comes back from layer {number + 1}"
    into = f"∂L/∂a{j}" if " by " in back or " back " in back else back
    summed = found.bias is not None and _size(trace, found.bias) < _size(trace, found.z)
    return {
        "z": f"{product} + b{j}" if found.bias is not None else product,
        "a": _text(trace, path, found.z, z),
        "slope": f"the derivative of a{j} by {z}",
        "a_gradient": back,
        "delta": _delta(path, j, into),
        "bias_gradient": f"δ{j}, summed over examples" if summed else f"δ{j}",
        "weight_gradient": weight + _elsewhere(trace, found),
    }


def _text(trace: "Trace", path: list[Step], z: int, letter: str) -> str:
    """The activation a as a formula in z."""
    if len(path) == 1:
        return formula(
            trace.program, path[0], dict(enumerate(trace.names)) | {z: letter}
        )
    shown = activation_name(trace, path, z, letter)
    if not path:
        return letter
    return shown if is_elementwise(path) else f"{shown}({letter})"


def _size(trace: "Trace", i: int) -> int:
    return trace.program.values[i].size


def _is_read_by_a_product(trace: "Trace", a: int) -> bool:
    readers = trace.program.users()[a]
    return len(readers) == 1 and readers[0].name == "dot_general"


def _elsewhere(trace: "Trace", found: FoundLayer) -> str:
    """The rest of a weight's gradient, if it is also used in a penalty or tied layer."""
    uses = len(trace.program.users()[found.weight])
    return " + the part of its other uses" if uses > 1 else ""
