"""Half of an autoencoder at work on rows: the encoder, or the decoder."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from likely.core.precision import float64
from likely.core.rows import pad_rows

MAX_ROWS = 1024
"""Rows that are computed together where they are images."""
MAX_DOUBLE_SIZE = 65_536
"""Weights of a dense layer up to which all is computed in float64."""


def run_half(model: Any, X: np.ndarray) -> np.ndarray:
    """What a network makes of rows, as flat rows of float64, or as images.

    Args:
        model: the encoder or the decoder.
        X: (n, ...) rows in the units of the fit.
    """
    weights = [a for a in jax.tree.leaves(model) if eqx.is_array(a)]
    small = all(a.ndim < 3 and a.size <= MAX_DOUBLE_SIZE for a in weights)
    if X.ndim == 2 and small:
        with float64():
            return np.asarray(_run(model, pad_rows(X)), np.float64)[: len(X)]
    found = []
    with jax.enable_x64(False):
        for start in range(0, len(X), MAX_ROWS):
            part = np.asarray(X[start : start + MAX_ROWS], np.float32)
            found.append(np.asarray(_run(model, pad_rows(part)))[: len(part)])
    return np.concatenate(found).astype(np.float64)


@eqx.filter_jit
def _run(model: Any, X: jax.Array) -> jax.Array:
    return model(X)[0]
