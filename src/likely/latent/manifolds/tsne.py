"""t-SNE: a map on which similar rows are similarly near."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin

from likely.base.settings import above_zero, at_least, one_of, store
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.files import save
from likely.latent.manifolds.rows import check_map_rows
from likely.latent.manifolds.starts import principal_start
from likely.latent.manifolds.tsne_descent import descend, similarities
from likely.models.neighbors import neighbors

MAX_DIRECT_ROWS = 1000
"""Rows up to which all pairs are computed, by default."""
START_WIDTH = 1e-4
"""The standard deviation of the first coordinate in the beginning."""
NEIGHBORS_PER_PERPLEXITY = 3


class TSNE(ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    r"""A map of rows whose similarities $q_{ij}$ are close to those of the rows, $p_{ij}$.

    $p_{ij}$ is normal in the distance, as wide as it takes for about `perplexity` neighbours to
    count; $q_{ij} \propto 1/(1 + |y_i - y_j|^2)$. The map minimises KL(p ‖ q). Repulsion is by a
    grid and Fourier transforms, in time linear in the number of rows, or pair by pair. All threads
    work on it, and the bits do not depend on their number.

    New rows cannot be placed: use `UMAP` for that. There are no weights: a row of weight 2
    would be its own nearest neighbour. Leave rows out that should not count.

    Args:
        n_components: the dimensions of the map.
        perplexity: how many neighbours of a row count, about; at most a third of the rows.
        early_exaggeration: what p is multiplied by in the first 250 iterations.
        learning_rate: the step size, or "auto": n/4 divided by the exaggeration, at least 50.
        max_iter: the number of iterations.
        metric: "euclidean" or "cosine".
        init: where rows begin: "pca", "random", or places (n, n_components).
        method: "exact" (all pairs), "fft" (two dimensions only), or "auto": by Fourier
            transforms in two dimensions from 1,000 rows on.
        neighbors: how neighbours are found: "exact", "approximate", or "auto".
        random_state: of the random numbers.
        n_jobs: the number of threads; as many as there are processors where None.
        verbose: whether to show a progress bar.

    Attributes:
        embedding_: (n, n_components) the map.
        kl_divergence_: KL(p ‖ q) in nats.
        n_iter_: the number of iterations.
    """

    n_components: Any
    perplexity: Any
    early_exaggeration: Any
    learning_rate: Any
    max_iter: Any
    metric: Any
    init: Any
    method: Any
    neighbors: Any
    random_state: Any
    n_jobs: Any
    verbose: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: float | str = "auto",
        max_iter: int = 1000,
        metric: str = "euclidean",
        init: Any = "pca",
        method: str = "auto",
        neighbors: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> "TSNE":
        """Find the map of rows.

        Args:
            X: (n, d) rows.
            y: not used.
        """
        X = check_map_rows(self, X)
        n, q = len(X), at_least("n_components", self.n_components, 1, whole=True)
        one_of("method", self.method, ("auto", "exact", "fft"))
        if self.method == "fft" and q != 2:
            raise InputError(
                f'method "fft" makes maps of two dimensions, not {q}; give method="exact".'
            )
        grid = self.method == "fft" or (
            self.method == "auto" and q == 2 and n > MAX_DIRECT_ROWS
        )
        perplexity = min(
            above_zero("perplexity", self.perplexity), max(1.0, (n - 1) / 3)
        )
        k = (
            min(n - 1, int(NEIGHBORS_PER_PERPLEXITY * perplexity + 1))
            if grid
            else n - 1
        )
        seed = seed_of(self.random_state)
        D, found = neighbors(
            X, k, metric=self.metric, method=self.neighbors if grid else "exact",
            seed=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        auto = self.learning_rate == "auto"
        self.embedding_, self.kl_divergence_ = descend(
            similarities(D, found, perplexity),
            self._start(X, q, np.random.default_rng(seed)),
            grid=grid,
            exaggeration=above_zero("early_exaggeration", self.early_exaggeration),
            learning_rate=None
            if auto
            else above_zero("learning_rate", self.learning_rate),
            max_iter=at_least("max_iter", self.max_iter, 1, whole=True),
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        self.n_iter_ = int(self.max_iter)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """The map of rows, (n, n_components)."""
        return self.fit(X, y).embedding_

    def save(self, path: Any, *, card: Any = None) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _start(self, X: np.ndarray, q: int, rng: np.random.Generator) -> np.ndarray:
        """Where the rows begin, with a little noise so that copies do not coincide."""
        n = len(X)
        if not isinstance(self.init, str):
            Y = np.asarray(self.init, np.float64)
            if Y.shape != (n, q) or not np.isfinite(Y).all():
                raise InputError(
                    f"init has shape {Y.shape}; give finite places of shape ({n}, {q})."
                )
            return Y
        if one_of("init", self.init, ("pca", "random")) == "random":
            return START_WIDTH * rng.normal(size=(n, q))
        Y = principal_start(X, q, rng)
        width = float(np.std(Y[:, 0]))
        Y = Y / (width if width > 0 else 1.0) + 1e-3 * rng.normal(size=Y.shape)
        return START_WIDTH * Y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
