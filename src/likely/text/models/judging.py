"""What networks say of the next token, for many windows: some at a time, of a few sizes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from likely.core.rows import pad_rows
from likely.objectives.next_token import log_prob
from likely.text.models.next_token import Ensemble

MAX_JUDGED_SYMBOLS = 2**15
"""Symbols that are judged at once."""


def log_probs(network: Ensemble, symbols: np.ndarray) -> np.ndarray:
    """(m, T) log p of each symbol but the first, given those before it in its row.

    Args:
        network: what predicts.
        symbols: (m, T + 1) windows.
    """
    return _computed(_judge, network, symbols)


def next_token(network: Ensemble, rows: list[np.ndarray]) -> np.ndarray:
    """(n, v) log p of each token after the symbols of each row.

    Args:
        network: what predicts.
        rows: symbols, at most as many as the context.
    """
    symbols = np.zeros((len(rows), network.context), np.int32)
    for i, row in enumerate(rows):
        symbols[i, : len(row)] = row
    last = np.array([len(row) - 1 for row in rows])
    return _computed(_next, network, symbols, last)


def _computed(function: Any, network: Ensemble, *arrays: np.ndarray) -> np.ndarray:
    """A function of the network and of rows, some rows at a time."""
    most, parts = max(1, MAX_JUDGED_SYMBOLS // network.context), []
    with jax.enable_x64(False):
        for i in range(0, len(arrays[0]), most):
            rows = tuple(a[i : i + most] for a in arrays)
            found = np.asarray(function(network, *pad_rows(rows)), np.float64)
            parts.append(found[: len(rows[0])])
    return np.concatenate(parts)


@eqx.filter_jit
def _judge(network: Ensemble, symbols: Any) -> Any:
    """log p of each symbol but the first; what is no token has some number."""
    log_p = network.log_probs(jnp.asarray(symbols)[:, :-1])
    return log_prob(log_p, jnp.asarray(symbols)[:, 1:])


@eqx.filter_jit
def _next(network: Ensemble, symbols: Any, at: Any) -> Any:
    """log p of each token after position `at` of each row."""
    log_p = network.log_probs(jnp.asarray(symbols))
    return jnp.take_along_axis(log_p, jnp.asarray(at)[:, None, None], 1)[:, 0]
