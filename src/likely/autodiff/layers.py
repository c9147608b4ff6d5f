"""Find the layers of a network among the steps of a program."""

from collections.abc import Iterator
from dataclasses import dataclass

from likely.autodiff.program import Program, Step
from likely.autodiff.vocabulary import STRUCTURAL

_PRODUCTS = ("dot_general", "conv_general_dilated")


@dataclass(frozen=True)
class FoundLayer:
    """The numbers of the values that make a layer."""

    product: Step
    weight: int
    """The argument."""
    weight_first: bool
    source: int
    """What the weight is multiplied with."""
    bias: int | None
    z: int


def layer_names(program: Program) -> dict[int, str]:
    """W¹, b¹, z¹, a¹ ... for layers of a module, whose own names are long paths."""
    names: dict[int, str] = {}
    found = find_layers(program)
    for k, (layer, a) in enumerate(with_activations(program, found), start=1):
        if not program.values[layer.weight].name.endswith(("weight", "]")):
            continue
        letters = {a: "a", layer.z: "z", layer.weight: "W", layer.bias: "b"}
        for i, letter in letters.items():
            if i is not None and (letter in "Wb" or not program.values[i].named):
                names[i] = letter + superscript(k)
    return names


def with_activations(
    program: Program, found: list[FoundLayer]
) -> Iterator[tuple[FoundLayer, int]]:
    """Each layer, and what the next one sees of it."""
    for k, layer in enumerate(found):
        after = found[k + 1] if k + 1 < len(found) else None
        yield layer, _activation(program, layer.z, after)


def find_layers(program: Program) -> list[FoundLayer]:
    """Products of a weight with something that is not one, with the bias added after."""
    makers, users = program.makers(), program.users()
    layers = []
    for step in program.steps:
        if step.name not in _PRODUCTS:
            continue
        roots = [_root(program, makers, i) for i in step.inputs]
        k = _which_is_weight(program, step, roots)
        if k is None:
            continue
        z, bias = _with_bias(program, makers, users, step.outputs[0])
        layers.append(
            FoundLayer(step, roots[k], k == 0, step.inputs[1 - k], bias, z)  # type: ignore[arg-type]
        )
    return layers


def _root(program: Program, makers: dict[int, Step], i: int) -> int | None:
    """The variable argument a value is, up to shape; None where it is computed."""
    while i in makers and makers[i].name in STRUCTURAL:
        i = makers[i].inputs[0]
    return i if i in program.variables else None


def _which_is_weight(
    program: Program, step: Step, roots: list[int | None]
) -> int | None:
    """Which factor of a product is the weight: an argument, a matrix, the right one."""
    candidates = [k for k, root in enumerate(roots) if root is not None]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    letters = [program.values[i].name.split(".")[-1][:1].lower() for i in roots]  # type: ignore[index]
    if "w" in letters:
        return letters.index("w")
    first, second = (len(program.values[i].shape) for i in step.inputs)
    return 0 if first > second else 1


def _with_bias(
    program: Program, makers: dict, users: dict, product: int
) -> tuple[int, int | None]:
    """The pre-activation and its bias: the next sum with an argument, if there is one."""
    i = product
    while len(users[i]) == 1:
        (step,) = users[i]
        if step.name in STRUCTURAL:
            i = step.outputs[0]
            continue
        if step.name in ("add", "add_any"):
            (other,) = [j for j in step.inputs if j != i] or [i]
            root = _root(program, makers, other)
            if root is not None:
                return step.outputs[0], root
        break
    return product, None


def _activation(program: Program, z: int, following: FoundLayer | None) -> int:
    """What the next layer sees; for the last layer, z after its activation, if any."""
    if following is not None and z in _ancestors(program, following.source):
        return following.source
    users, i = program.users(), z
    while len(users[i]) == 1 and users[i][0].name in _OUTPUT_ACTIVATIONS:
        i = users[i][0].outputs[0]
    return i


_OUTPUT_ACTIVATIONS = ("tanh", "logistic", "sigmoid", "relu", "softmax", "erf", "silu")


def _ancestors(program: Program, i: int) -> set[int]:
    found = {i}
    for step in reversed(program.steps):
        if found.intersection(step.outputs):
            found.update(step.inputs)
    return found


def path_between(program: Program, z: int, a: int) -> list[Step]:
    """The steps from z to a."""
    before, after = _ancestors(program, a), {z}
    path = []
    for step in program.steps:
        if after.intersection(step.inputs) and before.intersection(step.outputs):
            after.update(step.outputs)
            path.append(step)
    return path


def superscript(number: int) -> str:
    """12 as ¹²."""
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))
