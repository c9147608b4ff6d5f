"""Numbers that must not be negative: the check, and a start for their factorisation."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from likely.core.checks import InputError
from likely.latent.factors.spectrum import randomized_svd


def check_not_negative(estimator: Any, X: Any, *, above: bool = False) -> None:
    """Refuse numbers below zero, naming the first.

    Args:
        estimator: whose name is in the message.
        X: rows, dense or sparse.
        above: whether zero is refused too.
    """
    values = X.data if issparse(X) else X
    if above and issparse(X) and X.nnz < np.prod(X.shape):
        raise InputError(
            "X has zeros, but the Itakura-Saito loss is infinite there; use "
            'beta_loss="kullback-leibler", or add a small number.'
        )
    bad = values <= 0 if above else values < 0
    if not bad.any():
        return
    if issparse(X):
        at = int(np.argmax(bad))
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        column = int(X.indices[at])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    needs = "numbers above 0" if above else "numbers of at least 0"
    raise InputError(
        f"Negative values in data passed to {type(estimator).__name__}: X is "
        f"{X[row, column]:g} in row {row}, column {column}; give {needs}."
        if not above
        else f"X is {X[row, column]:g} in row {row}, column {column}, but the "
        f"Itakura-Saito loss needs {needs}."
    )


def start_factors(
    X: Any, w: np.ndarray, k: int, init: str | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Z (k, n) and B (k, d) to begin with; equal rows get equal columns of Z.

    Args:
        X: rows, dense or sparse.
        w: their weights.
        k: the number of components.
        init: "nndsvd" (singular vectors, the larger of their positive and negative parts),
            "nndsvda" (zeros replaced by the mean, which multiplicative updates need),
            "random", or None: "nndsvda", or "random" where k is above n or d.
        seed: of random numbers.
    """
    n, d = X.shape
    rng = np.random.default_rng(seed)
    mean = float(w @ np.asarray(X.sum(1)).ravel()) / (w.sum() * d)
    if init == "random" or (init is None and k > min(n, d)):
        size = np.sqrt(mean / k)
        return np.full((k, n), size), size * np.abs(rng.normal(size=(k, d)))
    root = np.sqrt(w)
    A = X.multiply(root[:, None]).tocsr() if issparse(X) else X * root[:, None]
    U, s, V = randomized_svd(A, k, rng)
    U = U / root[:, None]
    Z, B = np.zeros((k, n)), np.zeros((k, d))
    for j in range(k):
        parts = []
        for sign in (1.0, -1.0):
            u, v = np.maximum(sign * U[:, j], 0), np.maximum(sign * V[j], 0)
            parts.append((u, v, np.sqrt(w @ u**2), np.sqrt(v @ v)))
        u, v, a, b = max(parts, key=lambda part: part[2] * part[3])
        if a * b > 0:
            size = np.sqrt(s[j] * a * b)
            Z[j], B[j] = size * u / a, size * v / b
    if init != "nndsvd":
        Z[Z <= 0], B[B <= 0] = mean, mean
    return Z, B
