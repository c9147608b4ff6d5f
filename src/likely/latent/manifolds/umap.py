"""UMAP: a map on which the graph of neighbours is like that of the rows."""

from typing import Any, no_type_check

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from likely.base.settings import above_zero, at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.manifolds.fuzzy_graph import (
    directed_memberships,
    fuzzy_graph,
    with_target,
)
from likely.latent.manifolds.rows import check_map_rows, neighbor_count
from likely.latent.manifolds.starts import principal_start, spectral_start
from likely.latent.manifolds.umap_layout import curve, lay_out
from likely.models.neighbors import neighbors_among, neighbors_and_index

MAX_ROWS_LONG, LONG, SHORT = 10_000, 500, 200
"""Up to so many rows there are 500 epochs by default, then 200."""
START_WIDTH = 10.0
"""How wide the map is in the beginning."""


class UMAP(Transformer):
    r"""A map of rows that keeps neighbours together, by the fuzzy graph of neighbours.

    Rows are connected with $μ_{ij}$ to their k nearest, and places $y_i$ with
    $q_{ij} = 1/(1 + a |y_i - y_j|^{2b})$; the places minimise the cross-entropy of the two by
    stochastic gradients. All threads work on it and the same seed gives the same bits, at
    any number of threads: a row moves along its own edges only, while the others stay
    where they were when the epoch began.

    What is near on the map was near before; distances between far groups, and how dense
    groups are, mean little. There are no weights: a row of weight 2 would be its own
    nearest neighbour. Leave rows out that should not count.

    Args:
        n_neighbors: k, with the row itself; few show detail, many the whole.
        n_components: the dimensions of the map.
        metric: "euclidean" or "cosine".
        min_dist: how close two rows may lie on the map.
        spread: the scale of the map.
        n_epochs: how many times all rows move; None: 500 up to 10,000 rows, else 200.
        learning_rate: the first step size.
        negative_sample_rate: rows drawn at random for each turn of an edge.
        init: where rows begin: "spectral" (eigenvectors of the graph), "pca", "random", or
            places (n, n_components).
        neighbors: "exact", "approximate", or "auto": exact up to 30,000 rows or in up to 8
            dimensions.
        target_weight: how much targets count, if `fit` gets them: from 0, not at all, to
            below 1.
        random_state: of the random numbers.
        n_jobs: the number of threads; as many as there are processors where None.
        verbose: whether to show a progress bar.

    Attributes:
        embedding_: (n, n_components) the map.
        n_epochs_: how many epochs there were.
    """

    n_neighbors: Any
    n_components: Any
    metric: Any
    min_dist: Any
    spread: Any
    n_epochs: Any
    learning_rate: Any
    negative_sample_rate: Any
    init: Any
    neighbors: Any
    target_weight: Any
    random_state: Any
    n_jobs: Any
    verbose: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        *,
        metric: str = "euclidean",
        min_dist: float = 0.1,
        spread: float = 1.0,
        n_epochs: int | None = None,
        learning_rate: float = 1.0,
        negative_sample_rate: int = 5,
        init: Any = "spectral",
        neighbors: str = "auto",
        target_weight: float = 0.5,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "UMAP":
        """Find the map of rows.

        Args:
            X: (n, d) rows.
            y: (n,) labels (−1 for unknown) or numbers, for a map on which rows of the same
                target are closer; None for the map of the rows alone.
        """
        X = check_map_rows(self, X)
        self._check_settings()
        seed = seed_of(self.random_state)
        k = max(neighbor_count(self.n_neighbors, len(X) + 1, least=2) - 1, 1)
        D, found, self.index_ = neighbors_and_index(
            X, k, metric=self.metric, method=self.neighbors,
            seed=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        graph, _, _ = fuzzy_graph(D, found)
        if y is not None:
            graph = self._joined(graph, y)
        rng = np.random.default_rng(seed)
        Y = self._start(X, graph, rng)
        self.n_epochs_ = self._epochs(len(X))
        places = self._lay_out(graph, Y, None, self.n_epochs_, seed)
        self.embedding_ = places.astype(np.float64)
        self.edges_ = graph.data, graph.indices, graph.indptr
        self.training_rows_, self.seed_ = X, seed
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """The map of rows, (n, n_components)."""
        return self.fit(X, y, **fit_params).embedding_

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The places of new rows among those of the fit, which stay; copies lie on them."""
        k = neighbor_count(self.n_neighbors, len(self.training_rows_) + 1)
        D, found = neighbors_among(
            self.training_rows_,
            X,
            k,
            metric=self.metric,
            index=self.index_,
            n_jobs=self.n_jobs,
        )
        mu, _, _ = directed_memberships(D)
        share = mu / mu.sum(axis=1, keepdims=True)
        Y = np.einsum("mk,mkq->mq", share, self.embedding_[found])
        starts = np.arange(0, k * len(X) + 1, k)
        shape = len(X), len(self.training_rows_)
        graph = csr_matrix((mu.ravel(), found.ravel(), starts), shape=shape)
        epochs = max(1, self.n_epochs_ // 3)
        places = self._lay_out(graph, Y, self.embedding_, epochs, self.seed_)
        copies = D[:, :1] == 0
        return np.where(copies, self.embedding_[found[:, 0]], places).astype(np.float64)

    @property
    def graph_(self) -> csr_matrix:
        """(n, n) sparse: μ, how surely two rows belong together."""
        n = len(self.embedding_)
        return csr_matrix(self.edges_, shape=(n, n))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _check_settings(self) -> None:
        at_least("n_components", self.n_components, 1, whole=True)
        at_least("negative_sample_rate", self.negative_sample_rate, 0, whole=True)
        at_least("min_dist", self.min_dist)
        above_zero("learning_rate", self.learning_rate)
        if self.min_dist > above_zero("spread", self.spread):
            raise InputError(
                f"min_dist is {self.min_dist} and spread is {self.spread}; rows cannot be "
                "further apart than the map is wide: give min_dist of at most spread."
            )
        if not 0 <= self.target_weight < 1:
            raise InputError(
                f"target_weight is {self.target_weight}; give a number from 0 to below 1."
            )

    def _epochs(self, n: int) -> int:
        if self.n_epochs is None:
            return LONG if n <= MAX_ROWS_LONG else SHORT
        return at_least("n_epochs", self.n_epochs, 1, whole=True)

    def _joined(self, graph: Any, y: Any) -> Any:
        """The graph with weaker edges between different targets."""
        y = column_or_1d(y, warn=True)
        if len(y) != graph.shape[0]:
            raise InputError(f"y has {len(y)} rows but X has {graph.shape[0]}.")
        numeric = type_of_target(y).startswith("continuous")
        if not numeric:
            known, codes = np.unique(y, return_inverse=True)
            y = np.where(known[codes].astype(str) == "-1", -1, codes)
        return with_target(graph, y, float(self.target_weight), numeric=numeric)

    def _start(self, X: np.ndarray, graph: csr_matrix, rng: Any) -> np.ndarray:
        """Where the rows begin, with a little noise so that copies do not coincide."""
        q, n = int(self.n_components), len(X)
        if not isinstance(self.init, str):
            Y = np.asarray(self.init, np.float64)
            if Y.shape != (n, q) or not np.isfinite(Y).all():
                raise InputError(
                    f"init has shape {Y.shape}; give finite places of shape ({n}, {q})."
                )
            return Y
        one_of("init", self.init, ("spectral", "pca", "random"))
        if self.init == "spectral":
            Y = spectral_start(graph, X, q, rng)
        elif self.init == "pca":
            Y = principal_start(X, q, rng)
        else:
            Y = rng.uniform(-1, 1, size=(n, q))
        return START_WIDTH * (Y + 1e-5 * rng.normal(size=Y.shape))

    def _lay_out(self, graph, Y, Z, epochs: int, seed: int) -> np.ndarray:  # noqa: PLR0917
        return lay_out(
            graph,
            Y,
            Z,
            curve=curve(float(self.min_dist), float(self.spread)),
            epochs=epochs,
            step=float(self.learning_rate) * (1.0 if Z is None else 0.25),
            negatives=int(self.negative_sample_rate),
            seed=seed,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
