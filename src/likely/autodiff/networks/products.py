"""The product of a layer as z = L R, where each factor is a value or its transpose."""

from dataclasses import dataclass

from likely.autodiff.networks.layers import FoundLayer
from likely.autodiff.program.program import Program, Step

SAME_VALUE = ("convert_element_type", "copy", "copy_p", "optimization_barrier")
"""Steps that leave every entry in its place."""


@dataclass(frozen=True)
class Factor:
    """A factor of a product: a value, or its transpose."""

    value: int
    transposed: bool
    first: int
    """The number of the first step that reads the value on the way to the product."""


@dataclass(frozen=True)
class LayerProduct:
    """z = L R, without the bias."""

    factors: tuple[Factor, Factor]
    weight: int
    """The position of the weight, 0 or 1."""
    stacked: bool
    """Whether L has further axes in front, over which it is a product for each entry."""


def product_of(
    program: Program, layer: FoundLayer, known: set[int]
) -> LayerProduct | None:
    """The product of a layer; None where it is no product of two vectors or matrices.

    Args:
        program: the program that the layer is in.
        layer: the layer.
        known: values that have a letter, at which the way back from the product ends.
    """
    step, makers, values = layer.product, program.makers(), program.values
    if step.name != "dot_general":
        return None
    contracted, batch = step.params["dimension_numbers"]
    if any(map(len, batch)) or len(contracted[0]) != 1:
        return None
    factors, stacked = [], len(values[step.inputs[0]].shape) > 2
    for position, i in enumerate(step.inputs):
        axes, axis = len(values[i].shape), contracted[position][0]
        if axes > 2 and (position == 1 or axis != axes - 1):
            return None
        turned = axes == 2 and axis != 1 - position
        factors.append(_factor(program, makers, i, known, (turned, step.number)))
    weight, turns = 0 if layer.weight_first else 1, _turns(program, makers, layer)
    if turns is None or (stacked and (turns or weight == 0)):
        return None
    if turns:  # z = (L R)ᵀ = Rᵀ Lᵀ
        factors = [_transposed(program, factor) for factor in reversed(factors)]
        weight = 1 - weight
    if factors[weight].value != layer.weight:
        return None
    return LayerProduct((factors[0], factors[1]), weight, stacked)


def _factor(
    program: Program,
    makers: dict[int, Step],
    i: int,
    known: set[int],
    start: tuple[bool, int],
) -> Factor:
    """The value that a factor is, behind steps that transpose it or change nothing."""
    turned, first = start
    while i in makers and i not in known:
        step = makers[i]
        if not (step.name in SAME_VALUE or _is_transpose(program, step)):
            break
        turned ^= _is_transpose(program, step)
        i, first = step.inputs[0], step.number
    return Factor(i, turned and len(program.values[i].shape) == 2, first)


def _turns(program: Program, makers: dict[int, Step], layer: FoundLayer) -> bool | None:
    """Whether the product is transposed before the bias is added; None: or moved otherwise."""
    product, turned = layer.product.outputs[0], False
    if layer.z == product:
        return False
    for i in makers[layer.z].inputs:
        turned = False
        while i != product and i in makers:
            step = makers[i]
            if not (step.name in SAME_VALUE or _is_transpose(program, step)):
                break
            turned ^= _is_transpose(program, step)
            i = step.inputs[0]
        if i == product:
            return turned
    return None


def _is_transpose(program: Program, step: Step) -> bool:
    return step.name == "transpose" and tuple(step.params["permutation"]) == (1, 0)


def _transposed(program: Program, factor: Factor) -> Factor:
    matrix = len(program.values[factor.value].shape) == 2
    return Factor(factor.value, matrix and not factor.transposed, factor.first)
