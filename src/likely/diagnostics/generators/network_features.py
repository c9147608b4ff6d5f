"""What the last layer of a trained network is given: features in which images are compared."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.layers import record

BLOCK_ROWS = 500
"""Rows whose layers are in memory at once."""


def network_features(network: Any, X: Any) -> Float[np.ndarray, "n d"]:
    """(n, d) the inputs of the last layer of a fitted network, for each row.

    Args:
        network: a fitted network of `likely`, such as a `CNNClassifier`; of an ensemble the
            first member counts.
        X: rows as the network takes them.
    """
    if not hasattr(network, "unpack"):
        raise InputError(
            f"{type(network).__name__} is no network whose layers can be seen; give one, "
            "or features of your own."
        )
    parts = [
        _features(*network.unpack(X[start : start + BLOCK_ROWS]))
        for start in range(0, len(X), BLOCK_ROWS)
    ]
    return np.concatenate(parts)


def _features(model: Any, state: Any, rows: Any) -> np.ndarray:
    layers = record(model, jnp.asarray(rows), state=state)
    found = [np.asarray(layer.value) for layer in layers]
    flat = [value for value in found if value.ndim == 2]
    for value in flat[-2::-1]:
        if value.shape != flat[-1].shape or not np.array_equal(value, flat[-1]):
            return value.astype(np.float64)
    raise InputError("the network has one layer, so there is nothing before its last.")
