"""Find the layers of a network among the steps of a program."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from likely.autodiff.networks.activations import activation, ancestors
from likely.autodiff.program.calls import PRODUCTS
from likely.autodiff.program.formulas import STRUCTURAL
from likely.autodiff.program.program import LITERAL, RESULT, STEP, Program, Step


@dataclass(frozen=True)
class FoundLayer:
    """A layer in a program: the numbers of its values."""

    product: Step
    weight: int
    """The number of the weight, an argument."""
    weight_first: bool
    source: int
    """The number of the other factor, the input of the layer."""
    bias: int | None
    z: int


def called_layers(program: Program) -> list[tuple[int, FoundLayer, int]]:
    """(number, layer, activation) for layers whose weight is called w... or unnamed.

    In x @ A @ x the matrix A is not meant as a layer, though `find_layers` finds one.
    """
    found = enumerate(with_activations(program, find_layers(program)), start=1)
    return [
        (k, layer, a)
        for k, (layer, a) in found
        if last_word(program, layer.weight)[:1].lower() in ("w", "")
    ]


def layer_names(program: Program) -> dict[int, str]:
    """W¹, b¹, z¹, a¹ ... for values without a name in the source, or with a long path."""
    names: dict[int, str] = {}
    for k, layer, a in called_layers(program):
        letters = {a: "a", layer.z: "z", layer.weight: "W", layer.bias: "b"}
        for i, letter in letters.items():
            if i is not None and not _has_short_name(program, i):
                names.setdefault(i, letter + superscript(k))
    if names and len(program.outputs) == 1:
        result = program.values[program.outputs[0]]
        if result.name == RESULT and not result.shape:
            names[result.index] = "L"
    return names


def delta_names(program: Program) -> dict[int, str]:
    """δ¹, δ² ... for the adjoints of z and of the product in z = product + bias."""
    names: dict[int, str] = {}
    makers = program.makers()
    for k, layer, _ in called_layers(program):
        product, delta = layer.product.outputs[0], f"δ{superscript(k)}"
        names[layer.z] = delta
        if product in makers[layer.z].inputs:  # not moved before the bias is added
            names[product] = delta
    return names


def _has_short_name(program: Program, i: int) -> bool:
    value = program.values[i]
    return value.kind == LITERAL or (
        value.named and bool(re.fullmatch(r"\w+", value.name))
    )


def last_word(program: Program, i: int) -> str:
    """The last word of a name: W of `model.layers[0].W` and `params['W']`; "" of `p[0]`."""
    word = re.split(r"\W+", program.values[i].name.rstrip("'\"]"))[-1]
    return "" if word.isdigit() else word


def with_activations(
    program: Program, found: list[FoundLayer]
) -> Iterator[tuple[FoundLayer, int]]:
    """Each layer with its activation a, the input of the next layer."""
    for k, layer in enumerate(found):
        after = found[k + 1].source if k + 1 < len(found) else layer.z
        seen = after != layer.z and layer.z in ancestors(program, after)
        same = program.values[after].shape == program.values[layer.z].shape
        yield layer, after if seen and same else activation(program, layer.z)


def find_layers(program: Program) -> list[FoundLayer]:
    """Products of a weight with another value, with the bias that is added after."""
    makers, users = program.makers(), program.users()
    layers = []
    for step in program.steps:
        if step.name not in PRODUCTS or step.outputs[0] not in program.active:
            continue
        roots = [_root(program, makers, i) for i in step.inputs]
        k = _which_is_weight(program, step, roots)
        if k is None:
            continue
        z, bias = _with_bias(program, makers, users, step.outputs[0])
        if bias in roots:  # x + W x: a skip connection, not a bias
            z, bias = step.outputs[0], None
        layers.append(FoundLayer(step, roots[k], k == 0, step.inputs[1 - k], bias, z))
    return layers


def _root(program: Program, makers: dict[int, Step], i: int) -> int:
    """The value from which this one is obtained by reshaping and the like."""
    while i in makers and makers[i].name in STRUCTURAL:
        i = makers[i].inputs[0]
    return i


def _which_is_weight(program: Program, step: Step, roots: list[int]) -> int | None:
    """The position of the weight in a product: an argument, by its name or its shape."""
    words = {
        k: last_word(program, root).lower()
        for k, root in enumerate(roots)
        if root in program.variables
    }
    if len(words) < 2:
        return next(iter(words), None)
    for k in words:
        if words[k].startswith("w") or words[1 - k].startswith("x"):
            return k
    first, second = (len(program.values[i].shape) for i in step.inputs)
    return 0 if first > second else 1


def _with_bias(
    program: Program, makers: dict, users: dict, product: int
) -> tuple[int, int | None]:
    """The pre-activation and its bias, if the product is added to one."""
    i = product
    while len(users[i]) == 1:
        (step,) = users[i]
        if step.name in STRUCTURAL:
            i = step.outputs[0]
            continue
        if step.name in ("add", "add_any"):
            (other,) = [j for j in step.inputs if j != i] or [i]
            root = _root(program, makers, other)
            if _can_be_bias(program, root):
                return step.outputs[0], root
        break
    return product, None


def _can_be_bias(program: Program, i: int) -> bool:
    """Whether a value is a differentiated argument, a literal, or named b or bias."""
    value = program.values[i]
    called = value.kind != STEP and last_word(program, i)[:1].lower() == "b"
    return called or i in program.variables or value.kind == LITERAL


def superscript(number: int) -> str:
    """A number in superscript digits: 12 as ¹²."""
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))
