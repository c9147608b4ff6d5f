r"""The masked multilayer perceptron: outputs of a variable depend on earlier variables only.

Every unit has a degree, the number of variables that it may depend on: an input has the
rank of its variable in the order (from 1 on; 0 for conditions, which all may see), hidden
units have fixed degrees, and a connection is there where degrees do not fall,
$M_{ik} = [m_k \ge m_i]$. Outputs of the variable of rank r are connected to units of
degree below r. So one pass gives $θ_j(x_{<j})$ for all j (Germain, Gregor, Murray and
Larochelle 2015).

The order is an argument: a network that was trained under many orders answers in any.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from likely.core.checks import InputError
from likely.layers import Dense, Dropout, activation
from likely.layers.units.activations import Activation
from likely.layers.units.dense import add_bias
from likely.layers.units.product import product
from likely.typing import Key, State

CONDITION = -1
"""The variable of inputs that every output may depend on."""


class MaskedMLP(eqx.Module):
    """Dense layers with masks, and a masked linear map from the inputs to the outputs.

    All outputs are 0 at first. Hidden layers after the first are residual.

    Args:
        inputs: for each input, its variable: 0, 1, ..., d − 1, or −1 for a condition.
        outputs: for each output, its variable.
        hidden: the width of all hidden layers.
        n_hidden: the number of hidden layers.
        activate: the activation.
        dropout: the probability to drop a hidden unit.
        key: the random key of the initial weights.
    """

    layers: tuple[Dense, ...]
    direct: Dense
    activate: Any
    drop: Dropout | None
    inputs: tuple[int, ...] = eqx.field(static=True)
    outputs: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        hidden: int = 64,
        n_hidden: int = 2,
        *,
        activate: Activation = "relu",
        dropout: float = 0.0,
        key: Key,
    ):
        if not inputs or not outputs or hidden < 1 or n_hidden < 1:
            raise InputError(
                f"there are {len(inputs)} inputs, {len(outputs)} outputs and {n_hidden} "
                f"hidden layers of {hidden} units; give at least one of each."
            )
        keys = list(jax.random.split(key, n_hidden + 1))
        first = Dense(len(inputs), hidden, key=keys[0])
        middle = [Dense(hidden, hidden, init="xavier", key=k) for k in keys[1:-1]]
        last = Dense(hidden, len(outputs), init="zero", key=keys[-1])
        self.layers = (first, *middle, last)
        self.direct = Dense(
            len(inputs), len(outputs), bias=False, init="zero", key=keys[-1]
        )
        self.activate = activation(activate, hidden)
        self.drop = Dropout(dropout) if dropout else None
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)

    @property
    def n_variables(self) -> int:
        """The number d of variables."""
        return max(self.outputs) + 1

    def __call__(
        self,
        X: Float[Array, "n i"],
        *,
        order: Int[Any, " d"] | None = None,
        w: Any = None,
        key: Key | None = None,
        state: State = None,
    ) -> tuple[Float[Array, "n o"], State]:
        """The outputs for rows X.

        Args:
            X: the inputs.
            order: the rank of each variable, from 0 on; None is 0, 1, ..., d − 1.
            w: is not used: rows are independent.
            key: of the dropout; None at inference.
            state: is passed on.
        """
        into, within, out, direct = self._masks(order)
        keys = [None] * len(self.layers)
        if key is not None:
            keys = list(jax.random.split(key, len(self.layers)))
        first, *middle, last = self.layers
        H = _masked(first, X, into)
        for layer, k in zip(middle, keys, strict=False):
            H = H + _masked(layer, self._active(H, k), within)
        eta = _masked(last, self._active(H, keys[-1]), out)
        return eta + _masked(self.direct, X, direct), state

    def _active(self, H: Float[Array, "n h"], key: Key | None) -> Float[Array, "n h"]:
        H, _ = self.activate(H)
        return H if self.drop is None else self.drop(H, key=key)[0]

    def _masks(self, order: Int[Any, " d"] | None) -> tuple[Any, ...]:
        """Which connections are there: into, within and out of the hidden units, direct."""
        numbers: Any = np if order is None else jnp
        rank = np.arange(self.n_variables) if order is None else order
        degree = numbers.concatenate([rank + 1, np.zeros(1, int)])  # −1 is the last
        i, o = degree[np.array(self.inputs)], degree[np.array(self.outputs)]
        h = self._hidden_degrees
        return (
            i[:, None] <= h[None],
            h[:, None] <= h[None],
            h[:, None] < o[None],
            i[:, None] < o[None],
        )

    @property
    def _hidden_degrees(self) -> Int[np.ndarray, " h"]:
        """Evenly from 1, or from 0 where there are conditions, to d − 1."""
        low = 0 if CONDITION in self.inputs or self.n_variables == 1 else 1
        count = self.n_variables - low
        return low + np.arange(self.layers[0].weight.shape[1]) % max(count, 1)


def _masked(layer: Dense, X: Array, mask: Any) -> Array:
    """The layer without the connections that the mask cuts."""
    return add_bias(product(X, jnp.where(mask, layer.weight, 0.0)), layer.bias)
