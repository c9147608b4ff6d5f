r"""Word vectors by factorisation of a symmetric matrix: principal components of words.

$$C \approx V_k Λ_k V_k^\top$$

with the k eigenvalues of largest size is the best approximation of rank k, as the singular value
decomposition gives it. Words get the vectors $X = V_k |Λ_k|^{1/2}$, their neighbours
$Z = V_k \operatorname{sign}(Λ_k) |Λ_k|^{1/2}$, so that $X Z^\top$ is the approximation; where all
eigenvalues are positive the two are the same.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import eigsh

from likely.base.settings import at_least
from likely.core.checks import InputError

MAX_DENSE_WORDS = 600
"""Words up to which all eigenvectors are computed, which is exact and quick then."""
MIN_EIGENVALUE = 1e-10
"""Eigenvalues that are smaller than this part of the largest are rounding."""
TOLERANCE = 1e-9
"""Of the eigenvalues that are computed one by one, as a part of each."""
ASYMMETRY = 1e-8
"""The largest difference of two entries that should be equal, as a part of the largest entry."""


class EigenEmbedding(NamedTuple):
    """Vectors of words from the eigenvectors of a symmetric matrix."""

    X: np.ndarray
    """(V, k) the vectors of words."""
    Z: np.ndarray
    """(V, k) their vectors as neighbours: X Zᵀ approximates the matrix."""
    eigenvalues: np.ndarray
    """(k,) from the largest size to the smallest."""


def eigen_embedding(C: Any, k: int) -> EigenEmbedding:
    """The best approximation of rank k of a symmetric matrix, as vectors of words.

    A column of X has its largest entry positive. There are fewer than k columns where the
    matrix has a lower rank.

    Args:
        C: (V, V) symmetric: a co-occurrence or PMI matrix, dense or sparse.
        k: the size of the vectors.
    """
    k = at_least("k", k, 1, whole=True)
    C = csr_array(C, dtype=np.float64) if issparse(C) else np.asarray(C, np.float64)
    square = C.ndim == 2 and C.shape[0] == C.shape[1]
    if not square or not abs(C - C.T).max() <= ASYMMETRY * abs(C).max():
        raise InputError(
            f"C has shape {C.shape}; give a symmetric matrix of finite numbers."
        )
    values, U = _eigenvectors(C, min(k, C.shape[0]))
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    large = np.abs(values[order]) > MIN_EIGENVALUE * np.abs(values).max(initial=0.0)
    values, U = values[order[large]], U[:, order[large]]
    top = U[np.abs(U).argmax(0), np.arange(U.shape[1])]
    X = U * np.sign(top) * np.sqrt(np.abs(values))
    return EigenEmbedding(X, X * np.sign(values), values)


def _eigenvectors(C: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, at least, and their vectors."""
    if C.shape[0] <= max(MAX_DENSE_WORDS, 4 * k):
        return np.linalg.eigh(C.toarray() if issparse(C) else C)
    start = np.random.default_rng(0).normal(
        size=C.shape[0]
    )  # the same bits in each run
    options: Any = {"ncv": 3 * k + 20, "tol": TOLERANCE}
    values, U = eigsh(C, k, which="LM", v0=start, **options)
    return values, np.asarray(U)
