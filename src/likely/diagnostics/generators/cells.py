r"""How probable single cells are, given the other cells of their row.

$\log p(x_j \mid x_s) = \log p(x_j, x_s) - \log p(x_s)$, where s are the cells that are seen, for
models that sum missing cells out, such as circuits and Bayesian networks; others have a
`cell_log_prob` of their own. In nats of the original columns: densities of numbers,
probabilities of words, counts and whole numbers.
"""

from typing import Any

import numpy as np

from likely.core.checks import InputError

BLOCK_ROWS = 4096
"""Rows that a model is asked about at once."""


def cell_log_probs(model: Any, X: Any, hidden: Any) -> np.ndarray:
    """(n, q) log p of each hidden cell given the cells of its row that are not hidden.

    Cells that are not hidden, or missing anyway, are NaN.

    Args:
        model: a fitted generative model of tables.
        X: rows.
        hidden: (n, q) booleans, a column for each modelled column (`model.codec_.names`).
    """
    codec = getattr(model, "codec_", None)
    if codec is None:
        raise InputError(
            f"{type(model).__name__} is no fitted model of tables; give one that is."
        )
    V, hidden = codec.encode(X), np.asarray(hidden, bool)
    if hidden.shape != V.shape:
        raise InputError(
            f"hidden has shape {hidden.shape}; give booleans of shape {V.shape}."
        )
    if hasattr(model, "cell_log_prob"):
        return model.cell_log_prob(X, hidden)
    if not hasattr(model, "log_prob") or not hasattr(model, "impute"):
        raise InputError(
            f"{type(model).__name__} cannot leave cells of a row out, so it knows nothing "
            "of single cells."
        )
    rows, columns = np.nonzero(hidden & ~np.isnan(V))
    seen = np.where(hidden, np.nan, V)
    found = np.full(V.shape, np.nan)
    for start in range(0, len(rows), BLOCK_ROWS):
        i, j = rows[start : start + BLOCK_ROWS], columns[start : start + BLOCK_ROWS]
        own = np.unique(i)
        without = np.full(len(V), np.nan)
        without[own] = _log_prob(model, seen[own])
        cell = seen[i]
        cell[np.arange(len(i)), j] = V[i, j]
        found[i, j] = _log_prob(model, cell) - without[i]
    return found


def _log_prob(model: Any, V: np.ndarray) -> np.ndarray:
    """log p of codes: 0 for rows of which nothing is seen."""
    known = np.flatnonzero(~np.isnan(V).all(1))
    values = np.zeros(len(V))
    if len(known):
        X = model.codec_.decode(V[known])
        values[known] = model.log_prob(X)
    return values


def hidden_rows(codec: Any, X: Any, hidden: np.ndarray) -> Any:
    """Rows of a table with some cells missing, in the container of the fit.

    Args:
        codec: a `TableCodec`.
        X: rows.
        hidden: (n, q) booleans, a column for each modelled column.
    """
    V = codec.encode(X)
    return codec.decode(np.where(np.asarray(hidden, bool), np.nan, V))
