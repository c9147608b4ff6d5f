"""Perceptrons with given weights: networks that are built, not trained."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.core.precision import float64
from likely.models import MLP

MAX_ENTRIES = 2**22
"""Units times rows that are computed together."""


def assembled(
    layers: Sequence[tuple[Any, Any]], activation: Any = "relu"
) -> tuple[MLP, Any]:
    """A perceptron with these weights, in double precision, and its settings.

    Args:
        layers: W (d, k) and b (k,) of each dense layer, the output last.
        activation: of the hidden units, as `models.MLP` takes it.
    """
    arrays: list[np.ndarray] = [
        np.asarray(a, np.float64).reshape(shape)
        for W, b in layers
        for a, shape in ((W, np.shape(W)), (b, (-1,)))
    ]
    weights = arrays[::2]
    settings = MLP([W.shape[1] for W in weights[:-1]], activation)
    d, k = weights[0].shape[0], weights[-1].shape[1]
    sketch = jax.eval_shape(
        lambda key: settings.build(d, k, key=key), jax.random.key(0)
    )
    return settings, jax.tree.unflatten(jax.tree.structure(sketch), arrays)


def evaluated(model: Any, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
    """The outputs of a network, in double precision."""
    widest = max(np.shape(leaf)[-1] for leaf in jax.tree.leaves(model))
    rows = max(1, MAX_ENTRIES // max(widest, X.shape[1]))
    with float64():
        model = jax.tree.map(jnp.asarray, model)
        parts = [
            np.asarray(model(jnp.asarray(X[at : at + rows]))[0])
            for at in range(0, len(X), rows)
        ]
    return np.concatenate(parts)
