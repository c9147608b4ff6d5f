r"""The gated MLP of a transformer: $(a(XW_1) \odot XW_2)\,W_3$."""

from typing import Any

import jax
from jaxtyping import Array, Float

from likely.layers.composition.layer import AbstractLayer
from likely.layers.units.activations import Activation, activation
from likely.layers.units.dense import Dense
from likely.layers.units.initializers import Initializer
from likely.typing import Key


class GatedMLP(AbstractLayer):
    """One half of the hidden units decides how much of the other passes (SwiGLU).

    Args:
        size: of a position, in and out.
        hidden: the number of hidden units.
        activate: the activation of the gate.
        bias: whether the linear maps have one.
        init: of the linear maps.
        key: the random key of the initial weights.
    """

    gate: Dense
    value: Dense
    out: Dense
    activate: Any

    def __init__(
        self,
        size: int,
        hidden: int,
        *,
        activate: Activation = "silu",
        bias: bool = False,
        init: Initializer = "xavier",
        key: Key,
    ):
        k1, k2, k3 = jax.random.split(key, 3)
        self.gate = Dense(size, hidden, bias=bias, init=init, key=k1)
        self.value = Dense(size, hidden, bias=bias, init=init, key=k2)
        self.out = Dense(hidden, size, bias=bias, init=init, key=k3)
        self.activate = activation(activate, hidden)

    def of(self, X: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """(a(XW₁) ⊙ XW₂) W₃."""
        return self.out.of(self.activate(self.gate.of(X))[0] * self.value.of(X))
