r"""Nearest neighbours: no model, no loss, no fit; only rows that lie close.

The k nearest are those within the distance r at which the weights of the rows first sum
to k. Rows nearer than r count with their weight; rows at r exactly share what is left of
k, so a tie has no order and a row of weight 2 is the row twice. Distances are computed
pair by pair (no expansion into norms that would cancel digits), of many rows those of
candidates alone (`candidates`). Of large sparse matrices they are expanded.

How far neighbours can be believed is learned by leaving rows out: a row, and with it its
copies, is predicted from the others.
"""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix, issparse
from scipy.spatial.distance import cdist
from sklearn.base import ClassifierMixin, RegressorMixin

from likely.base.calibration import calibrate, keep, log_of, probabilities
from likely.base.held_out import OFTEN, error_variance
from likely.base.labels import frequency_distribution
from likely.base.predictor import Predictor
from likely.base.settings import at_least, one_of, store
from likely.core.checks import InputError
from likely.estimators.neighbors.candidates import (
    Candidates,
    Search,
    sparse_distances,
)
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
MIN_LEFT_OUT, MAX_LEFT_OUT = 100, 1000
"""How many rows are left out in turn: as many as `LEFT_OUT_WORK` allows, within these."""
LEFT_OUT_WORK = 1_000_000_000
"""Differences of two numbers that leaving rows out may take."""


def neighbor_weights(
    D: Float[np.ndarray, "m n"], w: Float[np.ndarray, "..."], k: float
) -> Float[np.ndarray, "m n"]:
    """How much each row counts among the k nearest, given the distances; Σ = k.

    Args:
        D: distances of m rows from n others.
        w: (n,) or (m, n) weights of the latter.
        k: number of neighbours; all of them where their weights sum to less.
    """
    w = np.broadcast_to(w, D.shape)
    wanted = np.minimum(k, w.sum(1, keepdims=True))
    near = _enough(D, w, wanted)
    order = np.argsort(np.take_along_axis(D, near, 1), axis=1, kind="stable")
    order = np.take_along_axis(near, order, 1)
    below = np.cumsum(np.take_along_axis(w, order, 1), 1)
    last = (below >= wanted * (1 - 1e-12)).argmax(1)
    r = np.take_along_axis(D, np.take_along_axis(order, last[:, None], 1), 1)
    inside, edge = np.where(r > D, w, 0.0), np.where(r == D, w, 0.0)
    rest = wanted - inside.sum(1, keepdims=True)
    return inside + edge * (rest / edge.sum(1, keepdims=True))


def _enough(D: np.ndarray, w: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(m, c) some of the nearest rows whose weights reach what is wanted; or all of them."""
    n = D.shape[1]
    c = int(4 * wanted.max(initial=0.0)) + 32
    if c < n:
        near = np.argpartition(D, c, axis=1)[:, :c]
        if (np.take_along_axis(w, near, 1).sum(1, keepdims=True) >= wanted).all():
            return near
    return np.broadcast_to(np.arange(n), D.shape)


def _parts(X: Any) -> dict[str, np.ndarray]:
    """A sparse matrix as arrays, which files hold."""
    names = ("data", "indices", "indptr")
    return {name: getattr(X, name) for name in names} | {"shape": np.array(X.shape)}


def _without(w: np.ndarray, own: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The weights without a row itself, and without its copies unless these are many."""
    mine = np.where(own, D, np.inf).min(1, keepdims=True)
    same = mine == D
    few = (w * same).sum(1, keepdims=True) < OFTEN
    w = np.where(same & few, 0.0, w)
    return np.where(own, np.where(few, 0.0, np.maximum(w - 1, 0.0)), w)


class NeighborsModel(Predictor):
    """A predictor by the nearest rows; you write `fit` and `predict_dist`."""

    n_neighbors: Any
    weights: Any
    metric: Any
    rows_: Any
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
        self.rows_ = _parts(rows.X) if issparse(rows.X) else rows.X
        self.targets_, self.weights_ = rows.y, rows.w

    def _average(
        self,
        X: Any,
        Y: Float[np.ndarray, "n q"],
        left_out: Int[np.ndarray, " m"] | None = None,
    ) -> Float[np.ndarray, "m q"]:
        """The mean of Y over the neighbours of each row.

        Args:
            X: (m, d) checked rows.
            Y: what is averaged, for each of the rows of the fit.
            left_out: for each row of X the row of the fit that it is; that one is left
                out, with its copies unless these are many. NaN where no other row is.
        """
        n, d = self._kept.shape
        m = X.shape[0]
        search = Search(self._kept, self.metric, self._n_candidates, m)
        width = max(self._n_candidates * d, n) if search.pays else max(n, d)
        size = max(1, BLOCK_BYTES // (8 * max(1, width)))
        parts = []
        for start in range(0, m, size):
            block = slice(start, min(start + size, m))
            out = None if left_out is None else left_out[block]
            near = search.find(X[block])
            found = np.full((block.stop - start, Y.shape[1]), np.nan)
            unsure = np.ones(len(found), bool)
            if near is not None:
                found, unsure = self._near_average(near, Y, out)
            if unsure.any():
                rows = np.flatnonzero(unsure)
                out = None if out is None else out[rows]
                found[rows] = self._full_average(X[block][rows], Y, out)
            parts.append(found)
        return np.concatenate(parts)

    def _near_average(
        self, near: Candidates, Y: np.ndarray, left_out: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The mean of Y over the neighbours among candidates, and where these are too few."""
        w = self.weights_[near.index]
        unsure = np.zeros(len(w), bool)
        if left_out is not None:
            own = near.index == left_out[:, None]
            unsure = ~own.any(1)
            w = _without(w, own, near.D)
        V = self._votes(near.D, w)
        radius = np.where(V > 0, near.D, 0.0).max(1)
        enough = w.sum(1) >= float(self.n_neighbors) * (1 - 1e-12)
        unsure |= ~(enough & (radius < near.reach))
        with np.errstate(invalid="ignore"):
            means = np.einsum("mc,mcq->mq", V, Y[near.index]) / V.sum(1, keepdims=True)
        return means, unsure

    def _full_average(
        self, X: Any, Y: np.ndarray, left_out: np.ndarray | None
    ) -> np.ndarray:
        """The mean of Y over the neighbours, by the distance from every row."""
        if issparse(X) or issparse(self._kept):
            D = sparse_distances(X, self._kept, self.metric)
        else:
            D = cdist(X, self._kept, METRICS[self.metric])
        w = self.weights_
        if left_out is not None:
            own = np.zeros(D.shape, bool)
            own[np.arange(len(D)), left_out] = True
            w = _without(np.broadcast_to(w, D.shape), own, D)
        V = self._votes(D, w)
        with np.errstate(invalid="ignore"):  # where all rows are left out
            return V @ Y / V.sum(1, keepdims=True)

    def _votes(self, D: np.ndarray, w: np.ndarray) -> np.ndarray:
        """How much each row counts, given distances and weights."""
        with np.errstate(invalid="ignore"):  # where all rows are left out
            V = neighbor_weights(D, w, float(self.n_neighbors))
            if self.weights == "distance":
                same = (D == 0) & (V > 0)
                V = np.where(same.any(1, keepdims=True), V * same, V)
                V = V / np.where(D > 0, D, 1.0)
        return V

    @property
    def _kept(self) -> Any:
        """The rows of the fit, as an array or a sparse matrix."""
        rows = self.rows_
        if not isinstance(rows, dict):
            return rows
        parts = rows["data"], rows["indices"], rows["indptr"]
        return csr_matrix(parts, shape=tuple(rows["shape"]))

    @property
    def _n_candidates(self) -> int:
        return 2 * int(self.n_neighbors) + 16

    @property
    def _takes_sparse(self) -> bool:
        return self.metric in ("euclidean", "cosine")

    def _left_out(self, Y: Float[np.ndarray, "n q"]):
        """The mean of Y for some rows from the others, which rows, and their weights."""
        n, d = self._kept.shape
        most = int(np.clip(LEFT_OUT_WORK / (n * d), MIN_LEFT_OUT, MAX_LEFT_OUT))
        some = np.arange(0, n, -(-n // most))
        found = self._average(self._kept[some], Y, left_out=some)
        known = ~np.isnan(found).any(axis=1)
        return found[known], some[known], self.weights_[some[known]]


class KNeighborsClassifier(ClassifierMixin, NeighborsModel):
    r"""The class frequencies f among the k nearest rows.

    The most frequent class is predicted. Probabilities keep the order of the frequencies:
    $p_c = (1 - λ) f_c^{1/T} / \sum_b f_b^{1/T} + λ π_c$ with T and λ of largest likelihood
    when rows are predicted from the others, and π the base rates.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a row counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        classes_: the labels, sorted.
        temperature_: T, by which frequencies are made less (above 1) or more extreme.
        base_share_: λ, how much of a probability is the base rate of its class.
        base_rates_: (c,) π, the shares of the classes in all rows.

    Examples:
        >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
        >>> print(lk.KNeighborsClassifier(2).fit(X, y).predict([[0.5], [5.5]]))
        [0 1]
    """

    temperature_: float
    base_share_: float
    base_rates_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsClassifier":
        """Keep the rows, and predict up to 1,000 from the others to calibrate the votes.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        self._keep_rows(X, y, sample_weight)
        codes, w = self.targets_.astype(int), self.weights_
        rates = np.bincount(codes, w, len(self.classes_)) / w.sum()
        votes, rows, w = self._left_out(self._indicators())
        keep(self, calibrate(log_of(votes), codes[rows], w, rates))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """The calibrated frequencies."""
        return frequency_distribution(self._probs(X), self.classes_)

    def votes(self, X: Any) -> np.ndarray:
        """(n, c) the frequencies among the neighbours; `predict_proba` is calibrated."""
        return self._average(self._inputs(X), self._indicators())

    def _probs(self, X: Any) -> np.ndarray:
        return probabilities(self, log_of(self.votes(X)))

    def _decide(self, X: Any) -> np.ndarray:
        return self.votes(X).argmax(1)

    def _indicators(self) -> np.ndarray:
        """(n, c) 1 for the class of each row of the fit."""
        return np.eye(len(self.classes_))[self.targets_.astype(int)]


class KNeighborsRegressor(RegressorMixin, NeighborsModel):
    """The mean of the k nearest rows; y | x is normal with the error of leaving one out.

    Args:
        n_neighbors: k.
        weights: "uniform", or "distance": a row counts 1/distance.
        metric: "euclidean", "manhattan", "chebyshev" or "cosine".

    Attributes:
        scale_: the root mean squared error of rows predicted from the others (of 1,000
            rows at most).

    Examples:
        >>> X, y = np.arange(6.0)[:, None], 10 * np.arange(6.0)
        >>> print(lk.KNeighborsRegressor(2).fit(X, y).predict([[2.5]]))
        [25.]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KNeighborsRegressor":
        """Keep the rows, and predict each from the others to learn the scale.

        Args:
            X: (n, d) inputs.
            y: (n,) numbers.
            sample_weight: how often each row counts.
        """
        self._keep_rows(X, y, sample_weight)
        y = self.targets_
        means, rows, w = self._left_out(y[:, None])
        errors = means[:, 0] - y[rows]
        self.scale_ = float(np.sqrt(error_variance(errors, w, y, self.weights_)))
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """N(mean of the neighbours, scale_²)."""
        mean = self._mean(X)
        log_scale = np.full(len(mean), np.log(self.scale_))
        return Predictive(Normal(), np.c_[mean, log_scale])

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        X = self._inputs(X)
        return self._average(X, self.targets_[:, None])[:, 0]
