"""Agglomerative clustering: the two nearest clusters become one, until few are left."""

from typing import Any, no_type_check

import numpy as np
from scipy.cluster import hierarchy
from sklearn.base import BaseEstimator, ClusterMixin

from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.files import save
from likely.latent.clusters.rows import weighted_rows

LINKAGES = ("ward", "complete", "average", "single")
MAX_ROWS = 30_000
"""Largest number of rows: all pairs of distances are kept."""


class AgglomerativeClustering(ClusterMixin, BaseEstimator):
    """Clusters by merging the two nearest ones, again and again (SciPy's linkage).

    It keeps the distances of all pairs of rows, so it is for up to some thousands of rows.

    Args:
        n_clusters: how many clusters are left; None where `distance_threshold` is given.
        linkage: what the distance of two clusters is: "ward" (by how much the sum of
            squares rises), "complete" (of the farthest rows), "average" or "single" (of
            the nearest rows).
        distance_threshold: clusters farther from each other are not merged.

    Attributes:
        labels_: (n,) the cluster of each row; -1 for a row of weight 0.
        n_clusters_: the number of clusters.
        linkage_matrix_: (m - 1, 4) the merges as SciPy describes them: two clusters, their
            distance, and the number of rows; rows are numbered after leaving out those of
            weight 0 and repeating those of larger weight.
        distances_: (m - 1,) the distances at which clusters were merged.
        leaves_: (m,) the rows in the order of a dendrogram.

    Examples:
        >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
        >>> labels = lk.AgglomerativeClustering(2).fit(X).labels_
        >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
        True
    """

    n_clusters: Any
    linkage: Any
    distance_threshold: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        linkage: str = "ward",
        distance_threshold: float | None = None,
    ):
        store(self, locals())

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> "AgglomerativeClustering":
        """Merge clusters.

        Args:
            X: (n, d) rows.
            y: not used.
            sample_weight: how often each row counts, whole numbers.
        """
        one_of("linkage", self.linkage, LINKAGES)
        X, w = weighted_rows(self, X, sample_weight)
        if (w != np.round(w)).any():
            raise InputError(
                "sample_weight has fractions, but rows are merged one by one; give whole "
                "numbers, which say how often each row is there."
            )
        self.leaves_ = np.repeat(np.arange(len(X)), w.astype(int))
        rows = X[self.leaves_]
        if len(rows) > MAX_ROWS:
            raise InputError(
                f"there are {len(rows)} rows, and all pairs of distances do not fit in "
                f"memory from {MAX_ROWS} on; use KMeans, or merge its centres."
            )
        self.linkage_matrix_, flat = np.empty((0, 4)), np.zeros(len(rows), int)
        if len(rows) > 1:
            self.linkage_matrix_ = _linkage(rows, self.linkage)
            flat = self._cut(len(rows))
            self.leaves_ = self.leaves_[hierarchy.leaves_list(self.linkage_matrix_)]
        self.distances_ = self.linkage_matrix_[:, 2]
        self.labels_ = np.full(len(X), -1)
        self.labels_[np.repeat(np.arange(len(X)), w.astype(int))] = flat
        self.n_clusters_ = int(flat.max()) + 1
        return self

    def _cut(self, n: int) -> np.ndarray:
        """(n,) the cluster of each row, numbered as they first occur."""
        Z = self.linkage_matrix_
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise InputError(
                "give either n_clusters or distance_threshold, and None for the other."
            )
        if self.distance_threshold is None:
            k = at_least("n_clusters", self.n_clusters, 1, whole=True)
            found = hierarchy.cut_tree(Z, min(k, n))[:, 0]
        else:
            most = at_least("distance_threshold", self.distance_threshold)
            found = hierarchy.fcluster(Z, most, "distance")
        _, first, codes = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[codes]

    def save(self, path: Any, *, card: Any = None) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _linkage(rows: np.ndarray, method: str) -> np.ndarray:
    """SciPy's linkage, of rows near 0."""
    return hierarchy.linkage(rows - rows.mean(0), method)
