r"""Multiplicative updates for the Kullback-Leibler and the Itakura-Saito loss.

With $Λ = Z B$ and the loss $D_β(X \mid Λ)$ (β = 2: squares, β = 1: Kullback-Leibler, β = 0:
Itakura-Saito),

$$Z \leftarrow Z \circ \Bigl( \frac{(X \circ Λ^{β-2}) B^\top}{Λ^{β-1} B^\top} \Bigr)^{γ},
  \qquad γ = \tfrac{1}{2 - β} \text{ for } β < 1, \text{ else } 1,$$

and the same for B (Lee and Seung; Févotte and Idier). No step raises the loss. Rows are taken in
blocks that stay in the cache; of a sparse X only the entries that are not zero are looked at.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_matrix, issparse

BLOCK_NUMBERS = 2**16
TINY = float(np.finfo(np.float32).eps) ** 2
CHECK_EVERY = 10
"""Iterations between two looks at the loss."""
LOSSES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


def divergence(X: Any, Z: np.ndarray, B: np.ndarray, w: np.ndarray, beta: float):
    """Σ w D_β(X | ZB), with Z of shape (n, k)."""
    total = 0.0
    if issparse(X) and beta == 1:
        values, rows = X.data, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        own = np.maximum(_at(X, Z, B), TINY)
        some = values > 0
        terms = values[some] * np.log(values[some] / own[some]) - values[some]
        return float(w[rows[some]] @ terms + (w @ Z) @ B.sum(1))
    for start, stop in _blocks(X):
        part = _dense(X[start:stop])
        L = Z[start:stop] @ B
        if beta == 2:
            terms = 0.5 * (part - L) ** 2
        else:
            L = np.maximum(L, TINY)
            ratio = part / L
            logs = np.log(np.where(ratio > 0, ratio, 1.0))
            terms = ratio - logs - 1 if beta == 0 else part * logs - part + L
        total += float(w[start:stop] @ terms.sum(1))
    return total


def fit_multiplicative(
    X: Any,
    w: Float[np.ndarray, " n"],
    Z: Float[np.ndarray, "n k"],
    B: Float[np.ndarray, "k d"],
    penalties: tuple[float, float, float, float],
    *,
    beta: float,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Update Z and B in turn until the loss hardly falls.

    Args:
        X: rows, dense or sparse.
        w: their weights.
        Z: to begin with; changed in place.
        B: to begin with.
        penalties: of |Z|, of Z²/2, of |B| and of B²/2.
        beta: 2, 1 or 0.
        tol: stop where the root of the loss falls by less than this share of the first one,
            over ten iterations.
        max_iter: the largest number of iterations.

    Returns:
        Z, B, and the number of iterations.
    """
    l1, l2 = penalties[2:]
    first = last = _root(X, Z, B, w, beta)
    for step in range(1, max_iter + 1):
        above, below = np.zeros_like(B), np.zeros_like(B)
        for start, stop in _blocks(X):
            part, own = X[start:stop], Z[start:stop]
            _update_rows(part, own, B, penalties[:2], beta)
            V = own * w[start:stop, None]
            numerator, denominator = _ratios(part, own, B, beta)
            above += (
                np.asarray(numerator.T @ V).T if issparse(part) else V.T @ numerator
            )
            below += V.sum(0)[:, None] if beta == 1 else V.T @ denominator
        below += l1 + l2 * B
        B = B * _power(above / np.maximum(below, TINY), beta)
        if tol > 0 and step % CHECK_EVERY == 0:
            now = _root(X, Z, B, w, beta)
            if last - now < tol * first:
                return Z, B, step
            last = now
    return Z, B, max_iter


def solve_rows(
    X: Any,
    B: Float[np.ndarray, "k d"],
    l1: float,
    l2: float,
    *,
    beta: float,
    tol: float = 1e-7,
    max_iter: int = 2000,
) -> Float[np.ndarray, "n k"]:
    """The Z of given B; a row is done when it is, whatever the other rows are."""
    mean = np.asarray(X.mean(1)).ravel()
    size = mean / max(float(B.sum(0).mean()), TINY)
    Z = np.repeat(size[:, None], len(B), axis=1)
    left = np.arange(X.shape[0])
    for _ in range(max_iter):
        new = Z[left]
        for start, stop in _blocks(X[left]):
            _update_rows(X[left[start:stop]], new[start:stop], B, (l1, l2), beta)
        moved = np.abs(new - Z[left]).max(1) > tol * np.abs(new).max(1)
        Z[left] = new
        left = left[moved]
        if not left.size:
            break
    return Z


def _update_rows(
    X: Any, Z: np.ndarray, B: np.ndarray, penalty: tuple[float, float], beta: float
) -> None:
    """One update of Z, in place."""
    numerator, denominator = _ratios(X, Z, B, beta)
    above = np.asarray(numerator @ B.T)
    below = B.sum(1) if beta == 1 else denominator @ B.T
    below = below + penalty[0] + penalty[1] * Z
    Z *= _power(above / np.maximum(below, TINY), beta)


def _ratios(X: Any, Z: np.ndarray, B: np.ndarray, beta: float) -> tuple[Any, Any]:
    """X ∘ Λ^(β−2) and, unless β = 1, Λ^(β−1)."""
    if issparse(X) and beta == 1:
        own = np.maximum(_at(X, Z, B), TINY)
        return csr_matrix((X.data / own, X.indices, X.indptr), X.shape), None
    L = Z @ B
    part = _dense(X)
    if beta == 2:
        return part, L
    np.maximum(L, TINY, out=L)
    if beta == 1:
        return np.divide(part, L, out=L), None
    inverse = 1 / L
    return part * inverse**2, inverse


def _at(X: Any, Z: np.ndarray, B: np.ndarray) -> np.ndarray:
    """ZB at the entries that a sparse matrix has."""
    rows, Bt = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), B.T.copy()
    found, size = np.empty(X.nnz), max(1, BLOCK_NUMBERS // len(B))
    for start in range(0, X.nnz, size):
        part = slice(start, start + size)
        found[part] = np.einsum("ij,ij->i", Z[rows[part]], Bt[X.indices[part]])
    return found


def _power(ratio: np.ndarray, beta: float) -> np.ndarray:
    return np.sqrt(ratio) if beta == 0 else ratio


def _root(X: Any, Z: np.ndarray, B: np.ndarray, w: np.ndarray, beta: float) -> float:
    return float(np.sqrt(max(2 * divergence(X, Z, B, w, beta), 0.0)))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if issparse(X) else X


def _blocks(X: Any) -> Iterator[tuple[int, int]]:
    """(start, stop) of blocks of rows; a sparse matrix is one for few entries."""
    n = X.shape[0]
    width = max(1, X.nnz // max(n, 1)) if issparse(X) else X.shape[1]
    size = max(1, (16 if issparse(X) else 1) * BLOCK_NUMBERS // width)
    for start in range(0, n, size):
        yield start, min(start + size, n)
