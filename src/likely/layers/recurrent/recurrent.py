r"""Recurrent layers: $h_t = f(x_t, h_{t-1})$, plain, LSTM and GRU.

lstm   i, f, o = σ(W[x, h] + b),  g = tanh(W[x, h] + b),  c = f c' + i g,  h = o tanh(c)
gru    r, u = σ(W[x, h] + b),  n = tanh(Wx + b + r (Uh' + b')),  h = (1 − u) n + u h'
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from likely.core.checks import InputError
from likely.layers.composition.padded import repack, unpack
from likely.layers.recurrent.cells import CELLS, Carry
from likely.layers.recurrent.recurrence import by_rows, recurrence
from likely.layers.units.dense import add_bias
from likely.layers.units.dropout import Dropout
from likely.layers.units.product import product
from likely.typing import Key, State


class Direction(eqx.Module):
    """One layer in one direction.

    Weights are uniform within ±1/√k, and the forget gate of an LSTM starts open (bias 1).
    """

    weight: Float[Array, "d g"]
    recurrent: Float[Array, "k g"]
    bias: Float[Array, " g"]
    own_bias: Float[Array, " k"] | None
    """The bias of h U in the last gate of a GRU."""
    kind: str = eqx.field(static=True)

    def __init__(self, kind: str, n_in: int, size: int, *, key: Key):
        cell, self.kind = CELLS[kind], kind
        g, reach = cell.gates * size, size**-0.5
        keys = jax.random.split(key, 4)

        def draw(k, *shape):
            return jax.random.uniform(k, shape, minval=-reach, maxval=reach)

        self.weight, self.recurrent = draw(keys[0], n_in, g), draw(keys[1], size, g)
        self.bias = draw(keys[2], g)
        if kind == "lstm":
            self.bias = self.bias.at[size : 2 * size].set(1.0)
        self.own_bias = draw(keys[3], size) if cell.has_own_bias else None

    @property
    def size(self) -> int:
        """The size k of the state."""
        return self.recurrent.shape[0]

    def start(self, n: int) -> Carry:
        """The state before the first step: zero."""
        zero = jnp.zeros((n, self.size), self.weight.dtype)
        return (zero,) * CELLS[self.kind].states

    def run(
        self, X: Float[Array, "t n d"], start: Carry, present: Any, chunk: int | None
    ) -> tuple[Float[Array, "t n k"], Carry]:
        """The states after each step, and the last one.

        Args:
            X: the inputs, time first.
            start: the state before the first step.
            present: (t, n, 1) 0 where a position is absent, or None.
            chunk: the steps through which gradients flow, or None for all.
        """
        (t, n, _), own = X.shape, self.own_bias
        rows = add_bias(product(by_rows(X), self.weight), self.bias)
        Z = jnp.swapaxes(rows.reshape(n, t, rows.shape[1]), 0, 1)
        if own is not None:
            own = jnp.pad(own, (len(self.bias) - len(own), 0))
        length, parts = len(Z), []
        step = length if chunk is None else chunk
        for first in range(0, length, step):
            part = slice(first, first + step)
            here = None if present is None else present[part]
            steps = Z[part], self.recurrent, own, start, here
            found: Any = recurrence(self.kind, *steps)
            parts.append(found[0])
            start = jax.lax.stop_gradient(found[1]) if chunk else found[1]
        return jnp.concatenate(parts) if len(parts) > 1 else parts[0], start


class States(NamedTuple):
    """What a recurrent layer found."""

    outputs: Any
    """(n, t, k) the states of the last layer after each position, both directions beside
    each other; zero at absent positions. In the form of the input."""
    last: tuple[Carry, ...]
    """The last state of each layer and direction."""


class Recurrent(eqx.Module):
    """Recurrent layers on rows of positions, (n, t, d) to (n, t, k).

    A position that is absent (`Padded`) changes nothing: the state passes it.

    Args:
        kind: "rnn" (tanh), "relu", "lstm" or "gru".
        n_in: the size d of a position.
        size: the size of the state; both directions together give twice as many outputs.
        n_layers: each layer reads the states of the one before.
        bidirectional: whether a second set of layers reads from the end.
        dropout: the probability to drop a value between layers.
        truncate: the number of steps that gradients flow back through; None is all.
        key: the random key of the initial weights.
    """

    layers: tuple[tuple[Direction, ...], ...]
    drop: Dropout | None
    truncate: int | None = eqx.field(static=True)

    def __init__(
        self,
        kind: str,
        n_in: int,
        size: int,
        *,
        n_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        truncate: int | None = None,
        key: Key,
    ):
        if kind not in CELLS:
            raise InputError(f"kind is {kind!r}; give one of {', '.join(CELLS)}.")
        if n_layers < 1 or size < 1 or (truncate is not None and truncate < 1):
            raise InputError(
                f"n_layers is {n_layers}, size {size}, truncate {truncate}; give whole "
                "numbers from 1 on."
            )
        both = 1 + bidirectional
        keys = jax.random.split(key, (n_layers, both))
        self.layers = tuple(
            tuple(
                Direction(kind, n_in if i == 0 else both * size, size, key=k)
                for k in keys[i]
            )
            for i in range(n_layers)
        )
        self.drop = Dropout(dropout) if dropout and n_layers > 1 else None
        self.truncate = truncate

    def states(
        self, X: Any, start: tuple[Carry, ...] | None = None, *, key: Key | None = None
    ) -> States:
        """All states, from zero or from the `last` states of an earlier part."""
        values, present = unpack(X)
        if values.ndim != 3 or values.shape[2] != self.layers[0][0].weight.shape[0]:
            raise InputError(
                f"the input has shape {values.shape}; a recurrent layer takes (rows, "
                f"positions, {self.layers[0][0].weight.shape[0]})."
            )
        H = jnp.swapaxes(values, 0, 1)
        here = None
        if present is not None:
            here = jnp.swapaxes(present, 0, 1)[..., None].astype(H.dtype)
        flat = [d for layer in self.layers for d in layer]
        start = tuple(d.start(H.shape[1]) for d in flat) if start is None else start
        begin, last = iter(start), []
        keys = (
            [None] * len(self.layers)
            if key is None
            else jax.random.split(key, len(self.layers))
        )
        for i, layer in enumerate(self.layers):
            if i and self.drop is not None:
                H = self.drop(H, key=keys[i])[0]
            outputs = []
            for backwards, one in enumerate(layer):
                order = slice(None, None, -1 if backwards else 1)
                mask = None if here is None else here[order]
                found, end = one.run(H[order], next(begin), mask, self.truncate)
                outputs.append(found[order])
                last.append(end)
            H = jnp.concatenate(outputs, 2) if len(outputs) > 1 else outputs[0]
            H = H if here is None else jnp.where(here > 0, H, 0)
        return States(repack(jnp.swapaxes(H, 0, 1), X), tuple(last))

    def __call__(
        self, X: Any, *, w=None, key: Key | None = None, state: State = None
    ) -> tuple[Any, State]:
        """The states after each position."""
        return self.states(X, key=key).outputs, state
