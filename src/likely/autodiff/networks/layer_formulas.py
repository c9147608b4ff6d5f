"""The formula of each quantity of a layer: z, a, δ and the gradients.

A formula is printed only where it holds for the graph of the program, with branches, skip
connections and shared weights. Elsewhere the text says what the quantity is.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likely.autodiff.networks.activations import acts_elementwise, path_between
from likely.autodiff.networks.layers import FoundLayer, superscript
from likely.autodiff.networks.products import Factor, LayerProduct, product_of
from likely.autodiff.program.formulas import ELEMENTWISE, formula, rules
from likely.autodiff.program.program import LITERAL, Step

if TYPE_CHECKING:
    from likely.autodiff.modes.trace import Trace

Layers = Sequence[tuple[FoundLayer, int]]
"""Layers, each with its activation."""
OTHER_USES = " + the part of its other uses"
MAX_TERMS = 4
"""The largest number of terms of a sum that is written out."""
SOFTMAX_STEPS = frozenset(
    """reduce_max max stop_gradient sub exp reduce_sum broadcast_in_dim reshape
    div""".split()  # noqa: SIM905
)


def is_elementwise(path: list[Step]) -> bool:
    """Whether there are steps from z to a, and all of them act elementwise."""
    return bool(path) and all(map(acts_elementwise, path))


def activation_name(trace: "Trace", path: list[Step], names: dict[int, str]) -> str:
    """The name of an activation, or its formula where it has several steps.

    Args:
        trace: the trace.
        path: the steps from z to a.
        names: the names of the values, that of z included.
    """
    steps = [step.name for step in path]
    if len(steps) < 2:
        return steps[0] if steps else "identity"
    if _is_softmax(trace, path):
        return "softmax"
    if not is_elementwise(path):
        return " then ".join(steps)
    return _written_out(trace, path, names)


def _written_out(trace: "Trace", path: list[Step], names: dict[int, str]) -> str:
    """The formula of elementwise steps in one line."""
    names, text = dict(names), ""
    for step in path:
        text = formula(trace.program, step, names)
        names[step.outputs[0]] = text if _is_atom(text) else f"({text})"
    return text


def _is_atom(text: str) -> bool:
    """Whether a formula is one name, number or function, so that it needs no brackets."""
    inner = re.fullmatch(r"\w*\((.*)\)", text)
    if inner is None:
        return bool(re.fullmatch(r"[\w.']+", text))
    depths = [0]
    for sign in inner[1]:
        depths.append(depths[-1] + (sign == "(") - (sign == ")"))
    return min(depths) == 0


def _is_softmax(trace: "Trace", path: list[Step]) -> bool:
    steps = {step.name for step in path}
    whole = {"exp", "reduce_sum", "div"} <= steps <= SOFTMAX_STEPS
    return whole and path[-1].name == "div" and len(_read(trace, path)) == 1


def _read(trace: "Trace", path: list[Step]) -> list[int]:
    """The values that a path begins with, literals left out."""
    values, made = trace.program.values, {i for step in path for i in step.outputs}
    read = dict.fromkeys(i for step in path for i in step.inputs)
    return [i for i in read if i not in made and values[i].kind != LITERAL]


class LayerFormulas:
    """The formulas of all layers of a network, in letters: x, W¹, b¹, z¹, a¹, δ¹, ...

    Args:
        trace: the trace of the network.
        layers: its layers.
    """

    def __init__(self, trace: "Trace", layers: Layers):
        self.trace, self.program, self.layers = trace, trace.program, layers
        self.users = trace.program.users()
        self.letters = _letters(trace, layers)
        self.names = dict(enumerate(trace.names)) | self.letters
        known = set(self.letters)
        self.products = [product_of(trace.program, f, known) for f, _ in layers]

    def of(self, number: int) -> dict[str, str]:
        """The formula of every quantity of layer `number`, counted from 1."""
        found, a = self.layers[number - 1]
        path, j = path_between(self.program, found.z, a), superscript(number)
        back = self._a_gradient(number)
        into = back if re.fullmatch(r"\S+ \S+", back) else f"∂L/∂a{j}"
        return {
            "z": self._z(number),
            "a": self._a(path, found.z, f"z{j}"),
            "slope": f"the derivative of a{j} by z{j}",
            "a_gradient": back,
            "delta": self._delta(path, number, into),
            "bias_gradient": self._bias_gradient(found, j),
            "weight_gradient": self._weight_gradient(number),
        }

    def _z(self, number: int) -> str:
        found, product = self.layers[number - 1][0], self.products[number - 1]
        bias = "" if found.bias is None else f" + {self.names[found.bias]}"
        if product is not None:
            left, right = (self._text(factor) for factor in product.factors)
            return f"{left} {right}{bias}"
        text = formula(self.program, found.product, self.names)
        plain = found.product.outputs[0] in self.program.makers()[found.z].inputs
        return text + bias if plain or not bias else f"{text}, rearranged,{bias}"

    def _a(self, path: list[Step], z: int, letter: str) -> str:
        """The activation a as a formula in z."""
        names = self.names | {z: letter}
        if not path:
            return letter
        if len(path) == 1:
            return formula(self.program, path[0], names)
        if is_elementwise(path):
            return _written_out(self.trace, path, names)
        if _is_softmax(self.trace, path):
            return f"softmax({letter})"
        read = ", ".join(names[i] for i in _read(self.trace, path))
        return f"computed from {read}: {' then '.join(s.name for s in path)}"

    def _delta(self, path: list[Step], number: int, into: str) -> str:
        found, a = self.layers[number - 1]
        j = superscript(number)
        if not path:
            return f"∂L/∂a{j}, since a{j} = z{j}"
        between = {found.z} | {i for step in path for i in step.outputs} - {a}
        outside = any(
            step not in path for i in between for step in self._useful_users(i)
        ) or not between.isdisjoint(self.program.outputs)
        rest = OTHER_USES if outside else ""
        if is_elementwise(path):
            return f"σ'(z{j}) ⊙ {into}{rest}"
        return f"{into}, through the Jacobian of a{j} by z{j}{rest}"

    def _bias_gradient(self, found: FoundLayer, j: str) -> str:
        if found.bias is None:
            return ""
        values, bias = self.program.values, found.bias
        summed = values[bias].size < values[found.z].size
        rest = OTHER_USES if len(self._useful_users(bias)) > 1 else ""
        return f"δ{j}{', summed over examples' if summed else ''}{rest}"

    def _weight_gradient(self, number: int) -> str:
        weight = self.layers[number - 1][0].weight
        tied = [k for k, (f, _) in enumerate(self.layers, 1) if f.weight == weight]
        if number != tied[0]:
            return f"∂L/∂W{superscript(tied[0])}, the same weights"
        return self._gradient(weight, f"W{superscript(number)}", tied)

    def _a_gradient(self, number: int) -> str:
        """∂L/∂a, from the layers that a goes into."""
        a, letter = self.layers[number - 1][1], f"a{superscript(number)}"
        layers = range(1, len(self.layers) + 1)
        return self._gradient(a, letter, [k for k in layers if k != number], rest=False)

    def _gradient(
        self, i: int, letter: str, layers: Sequence[int], *, rest: bool = True
    ) -> str:
        """∂L/∂v of a value v, a sum over the steps that read it.

        Args:
            i: the number of v.
            letter: its letter.
            layers: the layers that v may be a factor of.
            rest: whether uses in other steps are left to words.
        """
        otherwise = f"the derivative of the loss by {letter}"
        terms, steps = [], {step.number: step for step in self._useful_users(i)}
        if not rest and not self._leads_to_a_letter(steps, layers):
            return otherwise
        for k in layers:
            terms += [
                (factor.first, self._pulled(k, position))
                for position, factor in enumerate(self._factors(k))
                if factor.value == i and factor.first in steps
            ]
        others = [s for n, s in steps.items() if n not in dict(terms)]
        texts = [text for _, text in terms]
        if rest:
            if not texts:
                return otherwise
            return " + ".join(texts) + (OTHER_USES if others else "")
        texts += [text for step in others for text in self._sent(step, i)]
        plain = all(texts) and i not in self.program.outputs
        if not plain or not 0 < len(texts) <= MAX_TERMS:
            return otherwise
        return " + ".join(texts)

    def _leads_to_a_letter(self, steps: dict[int, Step], layers: Sequence[int]) -> bool:
        """Whether one of the steps is a layer, or computes a value with a letter."""
        first = {factor.first for k in layers for factor in self._factors(k)}
        made = {i for step in steps.values() for i in step.outputs}
        return bool(first & steps.keys() or made & self.letters.keys())

    def _factors(self, number: int) -> tuple[Factor, ...]:
        product = self.products[number - 1]
        return () if product is None else product.factors

    def _pulled(self, number: int, position: int) -> str:
        """What a layer sends back to a factor of its product: z = L R, L̄ = δ Rᵀ, R̄ = Lᵀ δ."""
        product, delta = self.products[number - 1], f"δ{superscript(number)}"
        assert isinstance(product, LayerProduct)
        other = self._text(product.factors[1 - position], turn=True)
        first, second = (delta, other) if position == 0 else (other, delta)
        if product.factors[position].transposed:
            first, second = _turned(second), _turned(first)
        rows = ", summed over examples" if product.stacked and position == 1 else ""
        return f"{first} {second}{rows}"

    def _sent(self, step: Step, i: int) -> list[str]:
        """What an elementwise step sends back to the value i; "" where there is no formula."""
        made = step.outputs[0]
        if step.name not in ELEMENTWISE or len(step.outputs) > 1:
            return [""]
        if self.program.values[made].shape != self.program.values[i].shape:
            return [""]
        texts = rules(self.program, step, self.names, self._adjoint(made))
        return [text for j, text in zip(step.inputs, texts, strict=True) if j == i]

    def _adjoint(self, i: int) -> str:
        """The letter of an adjoint."""
        for k, (found, a) in enumerate(self.layers, 1):
            if i in (found.z, a):
                j = superscript(k)
                return f"δ{j}" if i == found.z else f"∂L/∂a{j}"
        return self.trace.adjoint_name(i)

    def _text(self, factor: Factor, *, turn: bool = False) -> str:
        name = self.names[factor.value]
        return _turned(name) if factor.transposed != turn else name

    def _useful_users(self, i: int) -> list[Step]:
        """The steps that read a value and carry its derivative to the result."""
        active = self.program.active
        return [s for s in self.users[i] if active.intersection(s.outputs)]


def _turned(name: str) -> str:
    """The transpose of a factor, as text."""
    if name.endswith("ᵀ"):
        inner = name[:-1]
        return inner[1:-1] if inner.startswith("(") else inner
    return f"{name}ᵀ" if len(name) == 1 else f"({name})ᵀ"


def _letters(trace: "Trace", layers: Layers) -> dict[int, str]:
    """x, W¹, b¹, z¹, a¹, ... by value; a value that has two roles keeps its first letter."""
    letters: dict[int, str] = {}
    for k, (found, a) in enumerate(layers, 1):
        parts = {found.z: "z", found.weight: "W", found.bias: "b"} | {a: "a"}
        for i, letter in parts.items():
            if i is not None:
                literal = trace.program.values[i].kind == LITERAL
                name = trace.names[i] if literal else letter + superscript(k)
                letters.setdefault(i, name)
    x = layers[0][0].source
    if "x" not in {name for i, name in enumerate(trace.names) if i != x}:
        letters.setdefault(x, "x")
    return letters
