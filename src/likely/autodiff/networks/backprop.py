r"""Backpropagation, layer by layer.

For dense layers $z^j = W^j a^{j-1} + b^j$, $a^j = σ_j(z^j)$ and a loss L,

$$δ^j = \frac{\partial L}{\partial z^j}, \qquad
  δ^j = σ_j'(z^j) \odot (W^{j+1})^\top δ^{j+1}, \qquad
  \frac{\partial L}{\partial b^j} = δ^j, \qquad
  \frac{\partial L}{\partial W^j} = δ^j (a^{j-1})^\top .$$

With rows of examples, $Z = A W + 1 b$, the same reads $Δ^j = σ' \odot Δ^{j+1}
(W^{j+1})^\top$, $\partial L/\partial b = \sum_{rows} Δ$ and $\partial L/\partial W = A^\top Δ$.
This is the generalised delta rule of 1986; it holds for every differentiable σ. Where a
layer's output goes through a function that is not elementwise (softmax, batch norm), δ is
the adjoint through its full Jacobian.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likely.autodiff.modes.forward_reverse import pull_step
from likely.autodiff.networks.activations import path_between
from likely.autodiff.networks.layer_formulas import (
    LayerFormulas,
    activation_name,
    is_elementwise,
)
from likely.autodiff.networks.layers import (
    find_layers,
    superscript,
    with_activations,
)
from likely.autodiff.program.program import Step
from likely.autodiff.program.text import array, shape, table
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.modes.passes import Reverse
    from likely.autodiff.modes.trace import Trace


@dataclass(frozen=True)
class Layer:
    """The values and gradients of one layer, as arrays.

    `bias` and `bias_gradient` are None where there is no bias.
    """

    number: int
    weight: np.ndarray = field(repr=False)
    bias: np.ndarray | None = field(repr=False)
    a_in: np.ndarray = field(repr=False)
    """The activation of the layer before; the input x for the first layer."""
    z: np.ndarray = field(repr=False)
    """The pre-activation z = W a + b."""
    a: np.ndarray = field(repr=False)
    """The activation, the input of the next layer."""
    slope: np.ndarray | None = field(repr=False)
    """σ'(z) where σ acts elementwise; ones where there is no σ."""
    a_gradient: np.ndarray = field(repr=False)
    """∂L/∂a."""
    delta: np.ndarray = field(repr=False)
    """δ = ∂L/∂z."""
    weight_gradient: np.ndarray = field(repr=False)
    bias_gradient: np.ndarray | None = field(repr=False)
    activation: str
    """The activation function: tanh, relu, softmax, or a formula in z."""
    formulas: dict[str, str] = field(repr=False)
    """The formula of each quantity, by field."""


@dataclass(frozen=True)
class Backprop:
    """The layers of a network, first to last, and its loss."""

    layers: tuple[Layer, ...]
    loss: Any

    def __getitem__(self, number: int) -> Layer:
        """Layer `number`, counted from 1."""
        return self.layers[number - 1]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Rows (quantity, formula, shape, entries): forward, then backward."""
        forward = [r for layer in self.layers for r in _rows(layer, ("z", "a"))]
        back = ("a_gradient", "slope", "delta", "bias_gradient", "weight_gradient")
        returned = [r for layer in reversed(self.layers) for r in _rows(layer, back)]
        return [*forward, ("L", "the loss", "", array(self.loss)), *returned]

    def __str__(self) -> str:
        return table(("quantity", "formula", "shape", "entries"), self.rows(), width=60)

    __repr__ = __str__


def _rows(layer: Layer, fields: tuple[str, ...]) -> list[tuple[str, str, str, str]]:
    rows = []
    for name in fields:
        value = getattr(layer, name)
        if value is not None and not (
            name == "slope" and layer.activation == "identity"
        ):
            label = _SYMBOLS[name].format(superscript(layer.number))
            rows.append((label, layer.formulas[name], shape(value.shape), array(value)))
    return rows


_SYMBOLS = {
    "z": "z{}",
    "a": "a{}",
    "a_gradient": "∂L/∂a{}",
    "delta": "δ{}",
    "slope": "σ'(z{})",
    "bias_gradient": "∂L/∂b{}",
    "weight_gradient": "∂L/∂W{}",
}


def backprop(trace: "Trace", reverse: "Reverse") -> Backprop:
    """Find the layers of a network in a trace, with their values and gradients."""
    found = find_layers(trace.program)
    if not found:
        raise InputError(
            "there is no layer in this trace: no product of an argument (a weight) with "
            "another value; use reverse() for functions that are not networks."
        )
    pairs = list(with_activations(trace.program, found))
    texts = LayerFormulas(trace, pairs)
    layers = [_layer(texts, reverse, k) for k in range(1, len(pairs) + 1)]
    return Backprop(tuple(layers), trace.output)


def _layer(texts: LayerFormulas, reverse: "Reverse", number: int) -> Layer:
    """The values of layer `number`, counted from 1."""
    trace, (found, a) = texts.trace, texts.layers[number - 1]
    values, adjoints = trace.values, reverse.adjoints
    path = path_between(trace.program, found.z, a)
    bias, bias_gradient = None, None
    if found.bias is not None:
        bias, bias_gradient = values[found.bias], adjoints.get(found.bias)
    return Layer(
        number=number,
        weight=values[found.weight],
        bias=bias,
        a_in=values[found.source],
        z=values[found.z],
        a=values[a],
        slope=_slope(trace, path, found.z, a),
        a_gradient=adjoints[a],
        delta=adjoints[found.z],
        weight_gradient=adjoints[found.weight],
        bias_gradient=bias_gradient,
        activation=activation_name(trace, path, texts.names | {found.z: "z"}),
        formulas=texts.of(number),
    )


def _slope(trace: "Trace", path: list[Step], z: int, a: int) -> np.ndarray | None:
    """σ'(z): the adjoint of z if every entry of a has adjoint 1."""
    if path and not is_elementwise(path):
        return None

    def back(program, env):
        adjoints = {a: np.ones_like(trace.values[a])}
        for step in reversed(path):
            pull_step(program, step, env, adjoints)
        return adjoints[z]

    return trace.run(back, trace.values, by_step=True)
