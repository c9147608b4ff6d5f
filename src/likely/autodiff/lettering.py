"""What each quantity of a layer is, in the letters of the notes."""

import re
from typing import TYPE_CHECKING

from likely.autodiff.activations import acts_by_entry
from likely.autodiff.layers import FoundLayer, superscript
from likely.autodiff.program import Step
from likely.autodiff.vocabulary import formula

if TYPE_CHECKING:
    from likely.autodiff.trace import Trace


def by_entry(path: list[Step]) -> bool:
    """Whether there are steps from z to a, and all act on each entry alone."""
    return bool(path) and all(map(acts_by_entry, path))


def _delta(path: list[Step], j: str, into: str) -> str:
    if not path:
        return f"∂L/∂a{j}, since a{j} = z{j}"
    if by_entry(path):
        return f"σ'(z{j}) ⊙ {into}"
    return f"{into}, through the Jacobian of a{j} by z{j}"


def activation_name(trace: "Trace", path: list[Step], z: int, letter: str) -> str:
    """The name of an activation, or its formula where it has several steps."""
    steps = [step.name for step in path]
    if len(steps) < 2:
        return steps[0] if steps else "identity"
    if steps[-1] == "div" and {"exp", "reduce_sum"} <= set(steps):
        return "softmax"
    if not by_entry(path):
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
    """Every quantity of a layer in the letters of the notes; `after` is (path, a)."""
    path, a = after
    i, j, k = (superscript(n) for n in (number - 1, number, number + 1))
    z, before = f"z{j}", f"a{i}" if number > 1 else "x"
    turned = f"({before})ᵀ" if number > 1 else "xᵀ"
    if found.weight_first:  # z = W a + b for one example, or for columns
        product, back, weight = f"W{j} {before}", f"(W{k})ᵀ δ{k}", f"δ{j} {turned}"
    else:  # Z = A W + b for rows of examples
        product, back, weight = f"{before} W{j}", f"δ{k} (W{k})ᵀ", f"{turned} δ{j}"
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
    """a as a formula in z."""
    if len(path) == 1:
        return formula(
            trace.program, path[0], dict(enumerate(trace.names)) | {z: letter}
        )
    shown = activation_name(trace, path, z, letter)
    if not path:
        return letter
    return shown if by_entry(path) else f"{shown}({letter})"


def _size(trace: "Trace", i: int) -> int:
    return trace.program.values[i].size


def _is_read_by_a_product(trace: "Trace", a: int) -> bool:
    readers = trace.program.users()[a]
    return len(readers) == 1 and readers[0].name == "dot_general"


def _elsewhere(trace: "Trace", found: FoundLayer) -> str:
    """What a weight's gradient has beside this layer: a penalty, a tied layer."""
    uses = len(trace.program.users()[found.weight])
    return " + what its other uses send" if uses > 1 else ""
