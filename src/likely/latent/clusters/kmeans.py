r"""K-means: k centres with the smallest sum of squared distances of rows to the nearest one."""

import warnings
from typing import Any, no_type_check

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin

from likely.base.rows import check_inputs, weights_of
from likely.base.settings import above_zero, at_least, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError
from likely.core.random import seed_of
from likely.latent.clusters.gap import gap_statistic
from likely.latent.clusters.lloyd import best_of_starts, nearest
from likely.latent.clusters.minibatch import minibatch
from likely.latent.clusters.row_order import OrderedRows, ordered_rows
from likely.latent.clusters.rows import (
    centred,
    default_starts,
    start_numbers,
    weighted_rows,
)

PASSES = 10
"""How often small batches go through the rows."""


class KMeans(ClusterMixin, Transformer):
    r"""Clusters around k centres: $\min_c \sum_i w_i \min_j \lVert x_i - c_j\rVert^2$.

    Starts are chosen by k-means++ and run side by side; the best counts. The result does not
    depend on the order of rows, and a row of weight 2 is the row twice, to the bit.

    Args:
        n_clusters: k, or "gap" for the number that the gap statistic finds. There are at
            most as many clusters as different rows.
        n_init: the number of starts; "auto" is 10, and 3 for more than 10,000 rows.
        max_iter: the largest number of steps of a start.
        tol: a start ends when the squared moves of its centres add up to less than this
            share of the mean variance of the columns.
        batch_size: rows of a batch, for very many rows: centres then are the means of
            the rows of random batches. None: all rows in each step.
        max_clusters: the largest number that "gap" tries.
        random_state: which rows the starts begin with.

    Attributes:
        cluster_centers_: (k, d) the centres.
        labels_: (n,) the cluster of each row; -1 for a row of weight 0 that holds NaN.
        inertia_: the sum of squared distances of rows to their centres.
        n_iter_: the number of steps.
        converged_: whether it ended before `max_iter`.
        location_: (d,) the mean of the columns, which distances are computed around.
        scale_: the root mean square of what is left.
        gap_: the gap statistic, where it chose the number.

    Examples:
        >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
        >>> sorted(lk.KMeans(2).fit(X).cluster_centers_[:, 0].round(1).tolist())
        [0.1, 5.1]
    """

    n_clusters: Any
    n_init: Any
    max_iter: Any
    tol: Any
    batch_size: Any
    max_clusters: Any
    random_state: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        batch_size: int | None = None,
        max_clusters: int = 10,
        random_state: Any = 0,
    ):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMeans":
        """Find the centres.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts.
        """
        X, w = weighted_rows(self, X, sample_weight)
        rows = ordered_rows(X[w > 0], w[w > 0])
        seed = seed_of(self.random_state)
        k = self._number_of_clusters(rows, seed)
        Z, middle, scale = centred(rows.X, rows.w)
        found = self._clustering(Z, rows.w, k, seed)
        self.location_, self.scale_ = middle, scale
        self.cluster_centers_ = found.centres * scale + middle
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        known = np.isfinite(X).all(1)
        self.labels_ = np.full(len(X), -1, np.int32)
        self.labels_[known] = self._nearest(X[known])
        gaps = rows.X - self.cluster_centers_[self._nearest(rows.X)]
        self.inertia_ = float(rows.w @ np.einsum("nd,nd->n", gaps, gaps))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(n,) the number of the nearest centre of each row."""
        return self._nearest(check_inputs(self, X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of squared distances of rows to the nearest centre."""
        X = check_inputs(self, X)
        gaps = X - self.cluster_centers_[self._nearest(X)]
        w = weights_of(sample_weight, len(X))
        return -float(w @ np.einsum("nd,nd->n", gaps, gaps))

    def _number_of_clusters(self, rows: OrderedRows, seed: int) -> int:
        """k, at most the number of different rows."""
        k = self.n_clusters
        if k == "gap":
            most = at_least("max_clusters", self.max_clusters, 1, whole=True)
            self.gap_ = gap_statistic(
                rows.X, most, sample_weight=rows.w, random_state=seed
            )
            return self.gap_.n_clusters
        if isinstance(k, str):
            raise InputError(f'n_clusters is {k!r}; give a number, or "gap".')
        k = at_least("n_clusters", k, 1, whole=True)
        if k > len(rows.X):
            warnings.warn(
                f"n_clusters is {k}, but there are {len(rows.X)} different rows, so each "
                "is a cluster; ask for fewer clusters.",
                UserWarning,
                stacklevel=3,
            )
        return min(k, len(rows.X))

    def _clustering(self, Z: np.ndarray, w: np.ndarray, k: int, seed: int):
        """The best of several starts."""
        starts = default_starts(self.n_init, len(Z))
        steps = at_least("max_iter", self.max_iter, 1, whole=True)
        tol = at_least("tol", self.tol)
        uniform = start_numbers(seed, starts, k)
        if self.batch_size is not None:
            size = int(above_zero("batch_size", self.batch_size))
            count = int(min(steps, PASSES) * -(-w.sum() // size))
            rng = np.random.default_rng([seed, starts])
            return minibatch(Z, w, uniform, batch_size=size, steps=count, rng=rng)
        return best_of_starts(Z, w, uniform, tol, steps)

    def _nearest(self, X: np.ndarray) -> np.ndarray:
        C = (self.cluster_centers_ - self.location_) / self.scale_
        return nearest((X - self.location_) / self.scale_, C)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The distance of each row to each centre."""
        return cdist(X - self.location_, self.cluster_centers_ - self.location_)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
