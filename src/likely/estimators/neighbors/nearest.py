r"""Nearest neighbours: no model, no loss, no fit; only rows that lie close.

The k nearest are those within the distance r at which the weights of the rows first sum
to k. Rows nearer than r count with their weight; rows at r exactly share what is left of
k, so a tie has no order and a row of weight 2 is the row twice. Distances are computed
pair by pair (no expansion into norms that would cancel digits).
"""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.labels import frequency_distribution
from likely.base.predictor import Predictor
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.families import Normal, Predictive

METRICS: dict[str, Any] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
}
"""The metrics, and what SciPy calls them."""
BLOCK_BYTES = 32_000_000
"""Memory for the distances that are computed at once."""
MAX_LEFT_OUT = 2000
"""The largest number of rows that are left out in turn to learn the scale."""
MIN_VARIANCE = 1e-300


def neighbor_weights(
    D: Float[np.ndarray, "m n"], w: Float[np.ndarray, "..."], k: float
) -> Float[np.ndarray, "m n"]:
    """How much each row counts among the k nearest, given the distances; Σ = k.

    Args:
        D: distances of m rows from n others.
        w: (n,) or (m, n) weights of the latter.
        k: number of neighbours.
    """
    w = np.broadcast_to(w, D.shape)
    order = np.argsort(D, axis=1, kind="stable")
    below = np.cumsum(np.take_along_axis(w, order, 1), 1)
    last = (below >= k * (1 - 1e-12)).argmax(1)
    r = np.take_along_axis(D, np.take_along_axis(order, last[:, None], 1), 1)
    inside, edge = np.where(r > D, w, 0.0), np.where(r == D, w, 0.0)
    rest = k - inside.sum(1, keepdims=True)
    return inside + edge * (rest / edge.sum(1, keepdims=True))


class NeighborsModel(Predictor):
    """A predictor by the nearest rows; you write `fit` and `predict_dist`."""

    n_neighbors: Any
    weights: Any
    metric: Any
    rows_: np.ndarray
    targets_: np.ndarray
    weights_: np.ndarray

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str = "uniform",
        metric: str = "euclidean",
    ):
        store(self, locals())

    def _keep_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Check the settings, and keep the rows that have weight."""
        k = at_least("n_neighbors", self.n_neighbors, 1, whole=True)
        one_of("metric", self.metric, METRICS)
        one_of("weights", self.weights, ("uniform", "distance"))
        rows = self._rows(X, y, sample_weight).present()
        if rows.w.sum() < k:
            raise InputError(
                f"n_neighbors is {k}, but the weights of the {len(rows.w)} samples sum to "
                f"{rows.w.sum():g} (n_samples = {len(rows.w)}); ask for fewer neighbours."
            )
        self.rows_, self.targets_, self.weights_ = rows.X, rows.y, rows.w

    def _average(
        self,
        X: np.ndarray,
        Y: Float[np.ndarray, "n q"],
        left_out: Int[np.ndarray, " m"] | None = None,
    ) -> Float[np.ndarray, "m q"]:
        """The mean of Y over the neighbours of each row.

        Args:
            X: (m, d) checked rows.
            Y: what is averaged, for each of the rows of the fit.
            left_out: for each row of X a row of the fit to count once less.
        """
        size = max(1, BLOCK_BYTES // (8 * max(1, len(self.rows_))))
        k, parts = float(self.n_neighbors), []
        for start in range(0, len(X), size):
            block = slice(start, start + size)
            D = cdist(X[block], self.rows_, METRICS[self.metric])
            w = self.weights_
            if left_out is not None:
                w = np.tile(w, (len(D), 1))
                own = np.arange(len(D)), left_out[block]
                w[own] = np.maximum(w[own] - 1, 0)
            V = neighbor_weights(D, w, k)
            if self.weights == "distance":
                same = (D == 0) & (V > 0)
                V = np.where(same.any(1, keepdims=True), V * same, V)
                V = V / np.where(D > 0, D, 1.0)
            parts.append(V @ Y / V.sum(1, keepdims=True))
        return np.concatenate(parts)


class KNeighborsClassifier(ClassifierMixin, NeighborsModel):
    """The class frequencies among the k nearest rows.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a row counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        classes_: the labels, sorted.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsClassifier":
        """Keep the rows.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        self._keep_rows(X, y, sample_weight)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The frequencies; a class that no neighbour has is all but impossible."""
        return frequency_distribution(self._probs(X), self.classes_)

    def _probs(self, X: Any) -> np.ndarray:
        X = self._inputs(X)
        indicators = np.eye(len(self.classes_))[self.targets_.astype(int)]
        return self._average(X, indicators)


class KNeighborsRegressor(RegressorMixin, NeighborsModel):
    """The mean of the k nearest rows; y | x is normal with the error of leaving one out.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a row counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        scale_: the root mean squared error of rows predicted from the others (of 2,000
            rows at most).
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsRegressor":
        """Keep the rows, and predict each from the others to learn the scale.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers.
            sample_weight: how often each row counts.
        """
        self._keep_rows(X, y, sample_weight)
        w, y = self.weights_, self.targets_
        self.scale_ = float("inf")
        if w.sum() - 1 >= self.n_neighbors:
            some = np.arange(0, len(w), -(-len(w) // MAX_LEFT_OUT))
            means = self._average(self.rows_[some], y[:, None], left_out=some)[:, 0]
            square = np.average((means - y[some]) ** 2, weights=w[some])
            self.scale_ = float(np.sqrt(max(square, MIN_VARIANCE)))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """N(mean of the neighbours, scale_²)."""
        mean = self._mean(X)
        if not np.isfinite(self.scale_):
            raise InputError(
                "there are no more rows than neighbours, so none could be left out to "
                "learn a scale; ask for fewer neighbours."
            )
        log_scale = np.full(len(mean), np.log(self.scale_))
        return Predictive(Normal(), np.c_[mean, log_scale])

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X = self._inputs(X)
        return self._average(X, self.targets_[:, None])[:, 0]
