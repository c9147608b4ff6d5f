r"""Gaussian naive Bayes: maximum likelihood of the joint p(x, y), not of p(y | x)."""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Float
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
    X: np.ndarray, codes: np.ndarray, w: np.ndarray, c: int, share: float
) -> _Moments:
    """The moments of each class; one without rows has mean 0."""
    G = np.where(np.arange(c)[:, None] == codes[None], w, 0.0)
    weight = G.sum(1)
    divisor = np.where(weight > 0, weight, 1.0)[:, None]
    mean = G @ X / divisor
    squares = (X - mean[codes]) ** 2
    centre = w @ X / w.sum()
    largest = (w @ (X - centre) ** 2 / w.sum()).max(initial=0.0)
    epsilon = float(share * largest) or MIN_VARIANCE
    return _Moments(weight, mean, G @ squares / divisor + epsilon, epsilon)


def _log_joint(
    X: np.ndarray, prior: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """(n, c) log p(x, y = c)."""
    constants = 0.5 * np.log(2 * np.pi * variance).sum(1)
    with np.errstate(divide="ignore"):
        constants = np.log(prior) - constants
    pairs = zip(mean, variance, strict=True)
    with np.errstate(over="ignore"):
        squares = [np.minimum(((X - m) ** 2 / v).sum(1), MAX_SQUARES) for m, v in pairs]
    return constants - 0.5 * np.stack(squares, axis=1)
