"""What masked language models say of many windows: some at a time, of a few sizes."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from likely.core.rows import pad_rows
from likely.objectives.next_token import log_prob
from likely.text.models.judging import MAX_JUDGED_SYMBOLS
from likely.text.models.masked_token import MaskedToken


def token_log_probs(networks: list[MaskedToken], symbols: Any, at: Any) -> np.ndarray:
    """(n, v) log p of each token at one position of each row: of the mean over networks.

    Args:
        networks: the members.
        symbols: (n, t) windows.
        at: (n,) the positions.
    """
    return _of_mean(_computed(_log_probs, networks, symbols, np.asarray(at)[:, None]))


def own_log_probs(
    networks: list[MaskedToken], symbols: Any, at: Any, tokens: Any
) -> np.ndarray:
    """(n,) log p of one token at one position of each row.

    Args:
        networks: the members.
        symbols: (n, t) windows.
        at: (n,) the positions.
        tokens: (n,) the tokens.
    """
    columns = np.asarray(at)[:, None], np.asarray(tokens)[:, None]
    return _of_mean(_computed(_own_log_prob, networks, symbols, *columns))[:, 0]


def follow_probs(networks: list[MaskedToken], symbols: Any) -> np.ndarray:
    """(n,) the probability that the second part of each pair follows the first."""
    return _computed(_follows, networks, symbols).mean(0)


def row_vectors(networks: list[MaskedToken], symbols: Any) -> np.ndarray:
    """(n, m d) the mean state of each row, those of all members side by side."""
    return np.concatenate(list(_computed(_vectors, networks, symbols)), 1)


def _of_mean(logs: np.ndarray) -> np.ndarray:
    """log of the mean of probabilities, given their logs with a leading axis."""
    return logs[0] if len(logs) == 1 else logsumexp(logs, 0) - np.log(len(logs))


def _computed(function: Any, networks: list[Any], *arrays: np.ndarray) -> np.ndarray:
    """(m, n, ...) a function of networks and rows, some rows at a time."""
    most, parts = max(1, MAX_JUDGED_SYMBOLS // arrays[0].shape[1]), []
    with jax.enable_x64(False):
        for i in range(0, len(arrays[0]), most):
            rows = tuple(np.asarray(a[i : i + most]) for a in arrays)
            padded = pad_rows(rows)
            found = [np.asarray(function(n, *padded), np.float64) for n in networks]
            parts.append(np.stack(found)[:, : len(rows[0])])
    return np.concatenate(parts, 1)


@eqx.filter_jit
def _log_probs(network: MaskedToken, symbols: Any, at: Any) -> Any:
    return jax.nn.log_softmax(network(jnp.asarray(symbols), jnp.asarray(at))[0][:, 0])


@eqx.filter_jit
def _own_log_prob(network: MaskedToken, symbols: Any, at: Any, tokens: Any) -> Any:
    eta, _ = network(jnp.asarray(symbols), jnp.asarray(at))
    return log_prob(eta, jnp.asarray(tokens))


@eqx.filter_jit
def _follows(network: MaskedToken, symbols: Any) -> Any:
    at = jnp.zeros((len(symbols), 1), jnp.int32)
    follows: Any = network(jnp.asarray(symbols), at)[1]
    return jax.nn.sigmoid(follows)


@eqx.filter_jit
def _vectors(network: MaskedToken, symbols: Any) -> Any:
    return network.row_vectors(jnp.asarray(symbols))
