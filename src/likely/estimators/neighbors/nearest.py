r"""Nearest neighbours: no model, no loss, no fit; only rows that lie close.

The k nearest are those within the distance r at which the weights of the rows first sum
to k. Rows nearer than r count with their weight; rows at r exactly share what is left of
k, so a tie has no order and a row of weight 2 is the row twice. Distances are computed
pair by pair (no expansion into norms that would cancel digits).
"""

from abc import ABC
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from likely.core.checks import InputError
from likely.estimators.finite import finite_inputs, finite_rows, without_nan
from likely.estimators.host import (
    AbstractHostClassifier,
    AbstractHostPredictor,
    AbstractHostRegressor,
    positive,
)
from likely.families import Bernoulli, Categorical, Normal, Predictive

METRICS: dict[str, Any] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "cosine": "cosine",
}
BLOCK_BYTES, LEAST, MOST_LEFT_OUT = 32_000_000, 1e-300, 2000


def neighbour_weights(
    D: Float[np.ndarray, "m n"], w: Float[np.ndarray, "..."], k: float
) -> Float[np.ndarray, "m n"]:
    """How much each row counts among the k nearest, given the distances; Σ = k.

    `w` is (n,) or (m, n).
    """
    w = np.broadcast_to(w, D.shape)
    order = np.argsort(D, axis=1, kind="stable")
    below = np.cumsum(np.take_along_axis(w, order, 1), 1)
    last = (below >= k * (1 - 1e-12)).argmax(1)
    r = np.take_along_axis(D, np.take_along_axis(order, last[:, None], 1), 1)
    inside, edge = np.where(r > D, w, 0.0), np.where(r == D, w, 0.0)
    rest = k - inside.sum(1, keepdims=True)
    return inside + edge * (rest / edge.sum(1, keepdims=True))


class AbstractNeighbors(AbstractHostPredictor, ABC):
    """What both kinds share: the rows, and how their weights are found."""

    n_neighbors: int
    weights: str
    metric: str

    def _keep(self, X: Any, y: Any, sample_weight: Any) -> None:
        k = positive("n_neighbors", self.n_neighbors, least=1.0, whole=True)
        for name, known in (("metric", METRICS), ("weights", ("uniform", "distance"))):
            if getattr(self, name) not in known:
                raise InputError(
                    f"{name} is {getattr(self, name)!r}; give one of {list(known)}."
                )
        rows = finite_rows(self, X, y, sample_weight)
        if rows.w.sum() < k:
            raise InputError(
                f"n_neighbors is {k}, but the weights of the {len(rows.w)} samples sum to "
                f"{rows.w.sum():g} (n_samples = {len(rows.w)}); ask for fewer neighbours."
            )
        self.rows_, self.targets_, self.weights_ = rows.X, rows.y, rows.w

    def _average(
        self, X: np.ndarray, Y: Float[np.ndarray, "n q"], own: np.ndarray | None = None
    ) -> Float[np.ndarray, "m q"]:
        """The mean of Y over the neighbours; `own` are rows to count once less."""
        size = max(1, BLOCK_BYTES // (8 * max(1, len(self.rows_))))
        k, parts = float(self.n_neighbors), []
        for start in range(0, len(X), size):
            D = cdist(X[start : start + size], self.rows_, METRICS[self.metric])
            w = self.weights_
            if own is not None:
                w = np.tile(w, (len(D), 1))
                place = own[start : start + size]
                w[np.arange(len(D)), place] = np.maximum(
                    w[np.arange(len(D)), place] - 1, 0
                )
            V = neighbour_weights(D, w, k)
            if self.weights == "distance":
                same = (D == 0) & (V > 0)
                V = np.where(same.any(1, keepdims=True), V * same, V)
                V = V / np.where(D > 0, D, 1.0)
            parts.append(V @ Y / V.sum(1, keepdims=True))
        return np.concatenate(parts)

    def __sklearn_tags__(self):
        return without_nan(super().__sklearn_tags__())


class KNeighborsClassifier(AbstractNeighbors, AbstractHostClassifier):
    """The votes of the k nearest rows.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a vote counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        classes_: the labels, sorted.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str = "uniform",
        metric: str = "euclidean",
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsClassifier":
        """Keep the rows.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        self._keep(X, y, sample_weight)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The shares of the votes; a class without any is all but impossible."""
        log_probs = np.log(np.maximum(self._probs(finite_inputs(self, X)), LEAST))
        if len(self.classes_) == 2:
            eta = log_probs[:, 1:] - log_probs[:, :1]
            return Predictive(Bernoulli(), eta, self.classes_)
        return Predictive(Categorical(len(self.classes_)), log_probs, self.classes_)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        X = finite_inputs(self, X)
        return self._average(X, np.eye(len(self.classes_))[self.targets_.astype(int)])


class KNeighborsRegressor(AbstractNeighbors, AbstractHostRegressor):
    """The mean of the k nearest rows; y | x is normal with the error of leaving one out.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a row counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        scale_: the root mean squared error of rows predicted from the others (of 2,000
            rows at most).
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str = "uniform",
        metric: str = "euclidean",
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsRegressor":
        """Keep the rows, and predict each from the others to learn the scale.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers.
            sample_weight: how often each row counts.
        """
        self._keep(X, y, sample_weight)
        w, y = self.weights_, self.targets_
        self.scale_ = float("inf")
        if w.sum() - 1 >= self.n_neighbors:
            some = np.arange(0, len(w), -(-len(w) // MOST_LEFT_OUT))
            found = self._average(self.rows_[some], y[:, None], own=some)[:, 0]
            square = np.average((found - y[some]) ** 2, weights=w[some])
            self.scale_ = float(np.sqrt(max(square, LEAST)))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """N(mean of the neighbours, scale_²)."""
        mean = self.predict(X)
        if not np.isfinite(self.scale_):
            raise InputError(
                "there are no more rows than neighbours, so none could be left out to "
                "learn a scale; ask for fewer neighbours."
            )
        return Predictive(
            Normal(), np.c_[mean, np.full(len(mean), np.log(self.scale_))]
        )

    def _mean(self, X: np.ndarray) -> np.ndarray:
        return self._average(finite_inputs(self, X), self.targets_[:, None])[:, 0]
