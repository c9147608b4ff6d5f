"""Locally linear embedding: a map on which rows are the same mixtures of their neighbours."""

import warnings
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import eigh
from scipy.sparse import coo_matrix, csc_matrix, eye_array
from scipy.sparse.linalg import eigsh

from likely.base.settings import above_zero, at_least, store
from likely.base.transformer import Transformer
from likely.core.random import seed_of
from likely.core.threads import one_thread
from likely.latent.manifolds.coordinates import signed
from likely.latent.manifolds.geodesics import components
from likely.latent.manifolds.rows import check_map_rows, neighbor_count
from likely.models.neighbors import neighbors, neighbors_among

MAX_ALL_ROWS = 5000
"""Rows up to which all are landmarks by default, and how many there are beyond."""
MAX_DENSE_ROWS = 800
"""Rows up to which all eigenvectors are computed."""
BLOCK_NUMBERS = 4_000_000
"""How many numbers of neighbours are looked at at once."""


class LocallyLinearEmbedding(Transformer):
    r"""The map that the mixtures $x_i \approx \sum_j W_{ij} x_j$ of neighbours hold for, too.

    The weights W, which sum to 1, minimise $|x_i - \sum_j W_{ij} x_j|^2$ with a small penalty;
    the map minimises $\sum_i |y_i - \sum_j W_{ij} y_j|^2$: the eigenvectors of
    $(I - W)^\top (I - W)$ of smallest eigenvalue, but the constant one. Of many rows a random
    part is mapped, and the others are placed by their mixtures.

    There are no sample weights: a row of weight 2 would be its own nearest neighbour. Leave
    rows out that should not count.

    Args:
        n_neighbors: how many neighbours a row is a mixture of.
        n_components: the dimensions of the map; fewer than rows.
        reg: the penalty, as a part of the squares of the differences from neighbours.
        n_landmarks: how many rows the eigenvectors are of; "auto": up to 5,000.
        random_state: of the choice of landmarks.
        n_jobs: the number of threads that look for neighbours.

    Attributes:
        embedding_: (n, n_components) the map; its columns are orthonormal over landmarks.
        reconstruction_error_: the sum of the eigenvalues.
        landmarks_: (m,) the rows that the eigenvectors are of.

    Examples:
        >>> X = lk.data.digits().X[:100]
        >>> lk.LocallyLinearEmbedding(8).fit_transform(X).shape
        (100, 2)
    """

    n_neighbors: Any
    n_components: Any
    reg: Any
    n_landmarks: Any
    random_state: Any
    n_jobs: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        reg: float = 1e-3,
        n_landmarks: int | str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "LocallyLinearEmbedding":
        """Find the mixtures and the map.

        Args:
            X: (n, d) rows.
            y: not used.
        """
        X = check_map_rows(self, X)
        above_zero("reg", self.reg)
        q, n = at_least("n_components", self.n_components, 1, whole=True), len(X)
        m = n if n <= MAX_ALL_ROWS else MAX_ALL_ROWS
        if self.n_landmarks != "auto":
            m = min(at_least("n_landmarks", self.n_landmarks, 2, whole=True), n)
        seed = seed_of(self.random_state)
        rng = np.random.default_rng(seed)
        self.landmarks_ = np.sort(rng.choice(n, m, replace=False))
        Z = X[self.landmarks_]
        k = neighbor_count(self.n_neighbors, m)
        _, found = neighbors(Z, k, seed=seed, n_jobs=self.n_jobs)
        W = sparse_rows(mixtures(Z, Z, found, float(self.reg)), found)
        parts = components(W)
        if parts > 1:
            warnings.warn(
                f"the graph of {k} neighbours has {parts} components; the map shows which "
                "one a row is in and little else. Ask for more neighbours.",
                stacklevel=2,
            )
        self.places_, self.reconstruction_error_ = bottom_vectors(W, q, rng)
        self.training_rows_ = Z
        self.embedding_ = self.places_ if m == n else self._columns(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """The map of rows, (n, n_components)."""
        return self.fit(X, y).embedding_

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The places of rows as mixtures of their neighbours in the fit."""
        Z = self.training_rows_
        k = neighbor_count(self.n_neighbors, len(Z) + 1)
        _, found = neighbors_among(Z, X, k, n_jobs=self.n_jobs)
        shares = mixtures(Z, X, found, float(self.reg))
        return np.einsum("mk,mkq->mq", shares, self.places_[found])

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def mixtures(
    X: Float[np.ndarray, "n d"],
    Q: Float[np.ndarray, "m d"],
    found: Int[np.ndarray, "m k"],
    reg: float,
) -> Float[np.ndarray, "m k"]:
    """The weights of neighbours whose mixture is nearest to each row; they sum to 1.

    Args:
        X: the rows that neighbours are among.
        Q: the rows to be mixed.
        found: which neighbours.
        reg: the penalty on the squares of weights, as a part of the trace.
    """
    k, size = found.shape[1], max(1, BLOCK_NUMBERS // (found.shape[1] * X.shape[1]))
    shares = np.empty(found.shape)
    for start in range(0, len(Q), size):
        own = slice(start, start + size)
        Z = X[found[own]] - Q[own, None]
        C = Z @ Z.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        penalty = reg * np.where(trace > 0, trace, 1.0)
        C[:, np.arange(k), np.arange(k)] += penalty[:, None]
        w = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
        shares[own] = w / w.sum(axis=1, keepdims=True)
    return shares


def sparse_rows(values: np.ndarray, found: np.ndarray) -> Any:
    """(n, n) with a value for each neighbour."""
    n, k = found.shape
    heads = np.repeat(np.arange(n), k)
    return coo_matrix((values.ravel(), (heads, found.ravel())), shape=(n, n)).tocsr()


def bottom_vectors(
    W: Any, q: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """(n, q) the eigenvectors of (I − W)ᵀ(I − W) but the constant one, and Σ eigenvalues.

    Columns that there are no eigenvectors for are zero.

    Args:
        W: mixtures.
        q: how many.
        rng: random numbers to begin with.
    """
    n = W.shape[0]
    R = csc_matrix(eye_array(n) - W)
    M = (R.T @ R).tocsc()
    k = min(q, n - 1)
    if n <= MAX_DENSE_ROWS or k > n // 4:
        with one_thread():
            values, V = eigh(M.toarray(), subset_by_index=(0, k))
    else:
        below = -1e-10 * float(M.diagonal().max())
        solve: Any = eigsh
        start = rng.uniform(-1, 1, n)
        with one_thread():
            values, V = solve(M, k + 1, sigma=below, v0=start, tol=1e-8)
        order = np.argsort(values)
        values, V = values[order], V[:, order]
    Y = np.pad(signed(V[:, 1 : k + 1]), ((0, 0), (0, q - k)))
    return Y, float(values[1 : k + 1].sum())
