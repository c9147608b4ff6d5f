"""The multilayer perceptron: dense layers with a nonlinearity between."""

from collections.abc import Callable, Sequence

import jax

from likely.layers import BatchNorm, Chain, Dense
from likely.typing import Key


def mlp(
    sizes: Sequence[int],
    *,
    activation: Callable = jax.nn.relu,
    batch_norm: bool = False,
    key: Key,
) -> Chain:
    """A chain of dense layers of these sizes, inputs first, outputs last.

    Args:
        sizes: (d, hidden, ..., k).
        activation: a function applied after every dense layer but the last.
        batch_norm: whether to normalise before each activation.
        key: for the initial weights.
    """
    keys = jax.random.split(key, len(sizes) - 1)
    layers: list = []
    for n_in, n_out, k in zip(sizes[:-1], sizes[1:], keys, strict=True):
        layers += [Dense(n_in, n_out, key=k)]
        layers += [BatchNorm(n_out)] * batch_norm + [activation]
    return Chain(*layers[: -1 - batch_norm])
