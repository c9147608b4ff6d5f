r"""Gaussian naive Bayes: maximum likelihood of the joint p(x, y), not of p(y | x)."""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin

from likely.base.labels import class_distribution
from likely.base.predictor import Predictor
from likely.base.settings import at_least, store
from likely.core.checks import InputError
from likely.families import Predictive

MIN_VARIANCE = 1e-300


class GaussianNB(ClassifierMixin, Predictor):
    r"""Columns that are normal and independent within each class.

    $$p(y = c \mid x) \propto π_c \prod_j \mathcal N(x_j;\, μ_{cj}, σ_{cj}^2),$$

    all by weighted means: the recipe for p(x, y), turned around by Bayes' rule. Where
    columns are dependent, the same information is counted twice and probabilities are too
    sure.

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
    """

    priors: Any
    var_smoothing: Any

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
        X, w, c = rows.X, rows.w, len(self.classes_)
        G = np.where(np.arange(c)[:, None] == rows.y[None], w, 0.0)
        self.class_count_ = G.sum(1)
        self.theta_ = G @ X / self.class_count_[:, None]
        squares = (X - self.theta_[rows.y.astype(int)]) ** 2
        centre = w @ X / w.sum()
        largest = (w @ (X - centre) ** 2 / w.sum()).max(initial=0.0)
        self.epsilon_ = float(share * largest) or MIN_VARIANCE
        self.var_ = G @ squares / self.class_count_[:, None] + self.epsilon_
        self.class_prior_ = self._checked_priors(c)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) by Bayes' rule."""
        return class_distribution(self._log_joint(self._inputs(X)), self.classes_)

    def _probs(self, X: Any) -> np.ndarray:
        logs = self._log_joint(self._inputs(X))
        odds = np.exp(logs - logs.max(1, keepdims=True))
        return odds / odds.sum(1, keepdims=True)

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

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        """(n, c) log p(x, y = c)."""
        constants = 0.5 * np.log(2 * np.pi * self.var_).sum(1)
        with np.errstate(divide="ignore"):
            constants = np.log(self.class_prior_) - constants
        pairs = zip(self.theta_, self.var_, strict=True)
        squares = [((X - m) ** 2 / v).sum(1) for m, v in pairs]
        return constants - 0.5 * np.stack(squares, axis=1)
