"""Classical multidimensional scaling: a map whose distances are those of the rows."""

from typing import Any, no_type_check

import numpy as np
from sklearn.utils.validation import validate_data

from likely.base.rows import dense, weights_of
from likely.base.settings import at_least, one_of, store
from likely.base.transformer import Transformer
from likely.core.checks import InputError, check_finite
from likely.latent.manifolds.coordinates import (
    Coordinates,
    principal_coordinates,
    signed,
)


class ClassicalMDS(Transformer):
    r"""The map $Y$ whose products $Y Y^\top$ are nearest to those that the distances imply.

    For Euclidean distances these are the principal components of the rows, and no matrix of
    distances is made. A matrix of dissimilarities of any kind (travel times, one minus
    correlations) is given with metric="precomputed".

    Args:
        n_components: the dimensions of the map; columns beyond those of the rows are zero.
        metric: "euclidean", or "precomputed": X is the (n, n) matrix of dissimilarities, and
            `transform` takes the dissimilarities (m, n) of new rows from those of the fit.

    Attributes:
        embedding_: (n, n_components) the map; NaN for rows of weight 0.
        eigenvalues_: (n_components,) weighted sums of squares of its columns.

    Examples:
        >>> X = lk.data.iris().X
        >>> lk.ClassicalMDS(2).fit_transform(X).shape
        (150, 2)
    """

    n_components: Any
    metric: Any

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, n_components: int = 2, *, metric: str = "euclidean"):
        store(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "ClassicalMDS":
        """Find the map.

        Args:
            X: (n, d) rows, or (n, n) dissimilarities.
            y: not used.
            sample_weight: how often each row counts.
        """
        q = at_least("n_components", self.n_components, 1, whole=True)
        one_of("metric", self.metric, ("euclidean", "precomputed"))
        X = validate_data(
            self, dense(X), dtype=np.float64, ensure_all_finite=False,
            ensure_min_samples=2,
        )  # fmt: skip
        w = weights_of(sample_weight, len(X))
        there = w > 0
        if self.metric == "precomputed" and X.shape[0] == X.shape[1]:
            X = np.where(there, X, 0.0)  # dissimilarities from absent rows
        check_finite("X", X, w, names=getattr(self, "feature_names_in_", None))
        self.embedding_ = np.full((len(X), q), np.nan)
        if self.metric == "precomputed":
            S = _squares(X, there)
            self.coordinates_ = principal_coordinates(S, q, w[there])
            self.there_ = there
            self.eigenvalues_ = self.coordinates_.eigenvalues
            self.embedding_[there] = self.coordinates_.places
        else:
            self._fit_rows(X[there], w[there], q)
            self.embedding_[there] = self._columns(X[there])
        return self

    def _fit_rows(self, X: np.ndarray, w: np.ndarray, q: int) -> None:
        """Principal components, which are what classical scaling of rows comes to."""
        self.mean_ = w @ X / w.sum()
        C = np.sqrt(w)[:, None] * (X - self.mean_)
        _, s, V = np.linalg.svd(C, full_matrices=False)
        k = min(q, len(s))
        kept = s[:k] > 1e-9 * s[0]
        self.eigenvalues_ = np.pad(np.where(kept, s[:k] ** 2, 0.0), (0, q - k))
        V = np.where(kept[:, None], V[:k], 0.0)
        axes = signed(np.pad(V, ((0, q - k), (0, 0))).T)
        self.coordinates_, self.axes_ = None, axes

    def _columns(self, X: np.ndarray) -> np.ndarray:
        found: Coordinates | None = self.coordinates_
        if found is None:
            return (X - self.mean_) @ self.axes_
        return found.place(X[:, self.there_] ** 2)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _squares(X: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Squared dissimilarities of the rows that are there."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"X has shape {X.shape}; a matrix of dissimilarities has as many columns as rows."
        )
    D = X[there][:, there]
    gap = np.abs(D - D.T).max()
    if gap > 1e-8 * np.abs(D).max(initial=1e-300):
        i, j = np.unravel_index(np.abs(D - D.T).argmax(), D.shape)
        raise InputError(
            f"the dissimilarity of rows {i} and {j} is {D[i, j]:g} one way and {D[j, i]:g} the "
            "other; give a symmetric matrix, such as (D + D.T) / 2."
        )
    return (0.5 * (D + D.T)) ** 2
