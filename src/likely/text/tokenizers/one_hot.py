"""Tokens as columns of zeros and ones."""

from typing import Any

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError


def one_hot_tokens(tokens: Any, n_tokens: int) -> np.ndarray:
    r"""The matrix $T$ (V, N) of a sequence of N tokens: column n is 1 in row $x_n$.

    The embeddings of the sequence, one in each column, are $X = \Omega_e T$ with one column of
    $\Omega_e$ for each token; looking them up gives the same without the zeros.

    Args:
        tokens: (N,) the ids.
        n_tokens: the size V of the vocabulary.
    """
    size = at_least("n_tokens", n_tokens, 1, whole=True)
    ids = np.asarray(tokens)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise InputError(
            f"tokens has shape {ids.shape} and dtype {ids.dtype}; give one sequence of "
            "whole numbers."
        )
    bad = np.flatnonzero((ids < 0) | (ids >= size))
    if bad.size:
        raise InputError(
            f"token {bad[0]} is {ids[bad[0]]}; with {size} tokens the ids are 0 to "
            f"{size - 1}."
        )
    return (np.arange(size)[:, None] == ids).astype(np.float32)
