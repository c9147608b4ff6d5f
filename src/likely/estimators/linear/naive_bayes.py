r"""Gaussian naive Bayes: maximum likelihood of the joint p(x, y), not of p(y | x)."""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from likely.base.calibration import calibrate, keep, probabilities
from likely.base.held_out import fit_parts
from likely.base.labels import frequency_distribution
from likely.base.predictor import Predictor
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.families import Predictive

MIN_VARIANCE = 1e-300
MAX_SQUARES = 1e300
"""Rows further away from every class than this are as far from each."""
MAX_JUDGED_ROWS = 2000
"""The largest number of rows of a part by which probabilities are calibrated."""


class GaussianNB(ClassifierMixin, Predictor):
    r"""Columns that are normal and independent within each class.

    $$p(y = c \mid x) \propto π_c \prod_j \mathcal N(x_j;\, μ_{cj}, σ_{cj}^2),$$

    all by weighted means: the recipe for p(x, y), turned around by Bayes' rule. The class
    of the largest posterior is predicted. Where columns are dependent, the same information
    is counted twice and the posterior q is too sure; so probabilities are
    $(1 - λ) q_c^{1/T} / \sum_b q_b^{1/T} + λ π_c$ with T and λ of largest likelihood on rows
    that further fits have not seen.

    Args:
        priors: (c,) π; the shares of the classes if not given.
        var_smoothing: this share of the largest variance of a column is added to all.

    Attributes:
        classes_: the labels, sorted.
        class_prior_: (c,) π.
        class_count_: (c,) the weight of each class.
        theta_: (c, d) μ.
        var_: (c, d) σ², smoothed.
        epsilon_: what was added to the variances.
        temperature_: T, by which log-probabilities are divided.
        base_share_: λ, how much of a probability is that of its class whatever x is.
        base_rates_: (c,) π.

    Examples:
        >>> X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
        >>> print(lk.GaussianNB().fit(X, y).predict([[0.5], [5.5]]))
        [0 1]
    """

    priors: Any
    var_smoothing: Any
    temperature_: float
    base_share_: float
    base_rates_: np.ndarray

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianNB":
        """Compute means, variances and shares.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        share = at_least("var_smoothing", self.var_smoothing)
        rows = self._rows(X, y, sample_weight).present()
        c, codes = len(self.classes_), rows.y.astype(int)
        found = _class_moments(rows.X, codes, rows.w, c, share)
        self.class_count_, self.theta_, self.var_, self.epsilon_ = found
        self.class_prior_ = self._checked_priors(c)
        logs, out, w = [np.zeros((0, c))], [np.zeros(0, int)], [np.zeros(0)]
        for part in fit_parts(rows.X, rows.y, rows.w):
            w_part = rows.w * (1 - part)
            others = _class_moments(rows.X, codes, w_part, c, share)
            some = np.flatnonzero(part)[:MAX_JUDGED_ROWS]
            prior = self.class_prior_
            if self.priors is None:
                prior = others.weight / others.weight.sum()
            logs.append(_log_joint(rows.X[some], prior, others.mean, others.variance))
            out.append(some)
            w.append((rows.w * part)[some])
        known = codes[np.concatenate(out)]
        ratio = self.class_prior_ * rows.w.sum() / self.class_count_  # 1 unless given
        weight = np.concatenate(w) * ratio[known]
        keep(self, calibrate(np.concatenate(logs), known, weight, self.class_prior_))
        return self

    @property
    def _takes_sparse(self) -> bool:
        return True

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) by Bayes' rule, calibrated."""
        return frequency_distribution(self._probs(X), self.classes_)

    def votes(self, X: Any) -> np.ndarray:
        """(n, c) the posterior as Bayes' rule has it; `predict_proba` is calibrated."""
        return softmax(self._log_votes(X), axis=1)

    def _probs(self, X: Any) -> np.ndarray:
        return probabilities(self, self._log_votes(X))

    def _decide(self, X: Any) -> np.ndarray:
        return self._log_votes(X).argmax(1)

    def _log_votes(self, X: Any) -> np.ndarray:
        """(n, c) log p(x, y = c)."""
        X = self._inputs(X)
        return _log_joint(X, self.class_prior_, self.theta_, self.var_)

    def _checked_priors(self, c: int) -> np.ndarray:
        """(c,) π: those given, or the shares of the classes."""
        if self.priors is None:
            return self.class_count_ / self.class_count_.sum()
        priors = np.asarray(self.priors, np.float64)
        if priors.shape != (c,) or (priors < 0).any() or abs(priors.sum() - 1) > 1e-8:
            raise InputError(
                f"priors has to be {c} probabilities that sum to 1, one for each class."
            )
        return priors


class _Moments(NamedTuple):
    """The weight, means and variances of each class, and what was added to the latter."""

    weight: Float[np.ndarray, " c"]
    mean: Float[np.ndarray, "c d"]
    variance: Float[np.ndarray, "c d"]
    epsilon: float


def _class_moments(
    X: Any, codes: np.ndarray, w: np.ndarray, c: int, share: float
) -> _Moments:
    """The moments of each class; one without rows has mean 0."""
    G = np.where(np.arange(c)[:, None] == codes[None], w, 0.0)
    weight = G.sum(1)
    divisor = np.where(weight > 0, weight, 1.0)[:, None]
    mean = G @ X / divisor
    if issparse(X):
        squares = _sparse_squares(X, codes, w, mean, weight)
        nothing, centre = np.zeros_like(codes), (w @ X / w.sum())[None]
        all_squares = _sparse_squares(X, nothing, w, centre, w.sum(keepdims=True))[0]
    else:
        squares = _dense_squares(X, codes, w, mean)
        centre = w @ X / w.sum()
        all_squares = _dense_squares(X, np.zeros_like(codes), w, centre[None])[0]
    epsilon = float(share * all_squares.max(initial=0.0) / w.sum()) or MIN_VARIANCE
    return _Moments(weight, mean, squares / divisor + epsilon, epsilon)


def _dense_squares(X, codes: np.ndarray, w: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(c, d) Σ w (x − μ_c)² over the rows of each class, one class after the other."""
    found = np.empty_like(mean)
    for k, m in enumerate(mean):
        rows = slice(None) if len(mean) == 1 else np.flatnonzero(codes == k)
        found[k] = w[rows] @ (X[rows] - m) ** 2
    return found


def _sparse_squares(
    X: Any, codes: np.ndarray, w: np.ndarray, mean: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """(c, d) Σ w (x − μ_c)²: of the numbers that are there, and of the zeros."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    place = codes[rows] * X.shape[1] + X.indices
    size = mean.size
    gap = (X.data - mean.ravel()[place]) ** 2
    own = np.bincount(place, w[rows] * gap, size).reshape(mean.shape)
    there = np.bincount(place, w[rows], size).reshape(mean.shape)
    return own + np.maximum(weight[:, None] - there, 0.0) * mean**2


def _log_joint(
    X: Any, prior: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """(n, c) log p(x, y = c)."""
    constants = 0.5 * np.log(2 * np.pi * variance).sum(1)
    with np.errstate(divide="ignore"):
        constants = np.log(prior) - constants
    if issparse(X):
        zeros = (mean**2 / variance).sum(1)
        squares = zeros + X.multiply(X) @ (1 / variance).T
        squares = squares - 2 * (X @ (mean / variance).T)
        return constants - 0.5 * np.clip(squares, 0.0, MAX_SQUARES)
    pairs = zip(mean, variance, strict=True)
    with np.errstate(over="ignore"):
        squares = [np.minimum(((X - m) ** 2 / v).sum(1), MAX_SQUARES) for m, v in pairs]
    return constants - 0.5 * np.stack(squares, axis=1)
