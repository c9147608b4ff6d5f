"""Isomap: a map whose distances are those along the manifold of the rows."""

from typing import Any, no_type_check

import numpy as np

from likely.base.settings import at_least, store
from likely.base.transformer import Transformer
from likely.core.random import seed_of
from likely.latent.manifolds.coordinates import principal_coordinates
from likely.latent.manifolds.geodesics import geodesics, joined, neighbor_graph
from likely.latent.manifolds.rows import check_map_rows, neighbor_count
from likely.models.neighbors import neighbors, neighbors_among

MAX_ALL_ROWS = 4000
"""Rows up to which all are landmarks by default."""
MIN_LANDMARKS, MAX_LANDMARKS, LANDMARK_WORK = 100, 1000, 20_000_000
"""Beyond, there are as many as paths to all rows allow, within these."""


class Isomap(Transformer):
    r"""Classical scaling of the shortest paths along the graph of neighbours.

    Straight lines lead across the folds of a manifold; paths from neighbour to neighbour
    follow it. A graph that falls apart is joined by the shortest edges between its
    parts, with a warning. All pairs of paths take n² memory, so many rows are placed by
    their paths to some landmarks.

    There are no weights: a row of weight 2 would be its own nearest neighbour. Leave rows
    out that should not count.

    Args:
        n_neighbors: how many neighbours of a row are connected with it.
        n_components: the dimensions of the map.
        n_landmarks: how many rows all paths begin at; "auto": all up to 4,000 rows, then
            100 to 1,000, chosen at random.
        random_state: of the choice of landmarks.
        n_jobs: the number of threads that look for neighbours.

    Attributes:
        embedding_: (n, n_components) the map.
        dist_matrix_: (m, n) the lengths of paths from the m landmarks to all rows.
        landmarks_: (m,) which rows they are.

    Examples:
        >>> X = lk.data.digits().X[:100]
        >>> lk.Isomap(12).fit_transform(X).shape
        (100, 2)
    """

    n_neighbors: Any
    n_components: Any
    n_landmarks: Any
    random_state: Any
    n_jobs: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 5,
        n_components: int = 2,
        *,
        n_landmarks: int | str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "Isomap":
        """Find the paths and the map.

        Args:
            X: (n, d) rows.
            y: not used.
        """
        X = check_map_rows(self, X)
        q = at_least("n_components", self.n_components, 1, whole=True)
        k, seed = neighbor_count(self.n_neighbors, len(X)), seed_of(self.random_state)
        D, found = neighbors(X, k, seed=seed, n_jobs=self.n_jobs)
        graph = joined(neighbor_graph(D, found), X)
        m = landmark_count(self.n_landmarks, len(X))
        rng = np.random.default_rng(seed)
        self.landmarks_ = np.sort(rng.choice(len(X), m, replace=False))
        self.dist_matrix_ = geodesics(graph, self.landmarks_)
        G = self.dist_matrix_[:, self.landmarks_]
        G = 0.5 * (G + G.T)
        self.coordinates_ = principal_coordinates(G**2, q, np.ones(m))
        self.embedding_ = self.coordinates_.place(self.dist_matrix_.T**2)
        self.training_rows_ = X
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """The map of rows, (n, n_components)."""
        return self.fit(X, y).embedding_

    def reconstruction_error(self) -> float:
        """How far the products of places are from those of paths, in the mean square."""
        found = self.coordinates_
        rest = found.total - float((found.eigenvalues**2).sum())
        return float(np.sqrt(max(rest, 0.0)) / len(self.landmarks_))

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The places of rows by the shortest paths through neighbours of the fit."""
        rows = self.training_rows_
        k = neighbor_count(self.n_neighbors, len(rows) + 1)
        D, found = neighbors_among(rows, X, k, n_jobs=self.n_jobs)
        G = np.full((len(X), len(self.landmarks_)), np.inf)
        for j in range(k):
            G = np.minimum(G, D[:, j, None] + self.dist_matrix_.T[found[:, j]])
        return self.coordinates_.place(G**2)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def landmark_count(n_landmarks: Any, n: int) -> int:
    """How many landmarks n rows get."""
    if n_landmarks == "auto":
        many = int(np.clip(LANDMARK_WORK / n, MIN_LANDMARKS, MAX_LANDMARKS))
        return n if n <= MAX_ALL_ROWS else many
    return min(at_least("n_landmarks", n_landmarks, 2, whole=True), n)
