r"""Gaussian naive Bayes: maximum likelihood of the joint p(x, y), not of p(y | x)."""

from typing import Any, no_type_check

import numpy as np

from likely.core.checks import InputError
from likely.estimators.finite import finite_inputs, finite_rows, without_nan
from likely.estimators.host import AbstractHostClassifier, positive
from likely.families import Bernoulli, Categorical, Predictive


class GaussianNB(AbstractHostClassifier):
    r"""Columns that are normal and independent within each class.

    $$p(y = c \mid x) \propto π_c \prod_j \mathcal N(x_j;\, μ_{cj}, σ_{cj}^2),$$

    all by weighted means: the recipe for p(x, y), turned around by Bayes' rule. Where
    columns are dependent, evidence is counted twice and probabilities are too sure.

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

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "GaussianNB":
        """Means, variances and shares.

        Args:
            X: (n, d) inputs.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        share = positive("var_smoothing", self.var_smoothing)
        rows = finite_rows(self, X, y, sample_weight)
        X, w, c = rows.X, rows.w, len(self.classes_)
        G = np.where(np.arange(c)[:, None] == rows.y[None], w, 0.0)
        self.class_count_ = G.sum(1)
        self.theta_ = G @ X / self.class_count_[:, None]
        spread = (X - self.theta_[rows.y.astype(int)]) ** 2
        centre = w @ X / w.sum()
        largest = (w @ (X - centre) ** 2 / w.sum()).max(initial=0.0)
        self.epsilon_ = float(share * largest) or 1e-300
        self.var_ = G @ spread / self.class_count_[:, None] + self.epsilon_
        self.class_prior_ = self._priors(c)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) by Bayes' rule."""
        eta = self._joint(finite_inputs(self, X))
        if len(self.classes_) == 2:
            return Predictive(Bernoulli(), eta[:, 1:] - eta[:, :1], self.classes_)
        return Predictive(Categorical(len(self.classes_)), eta, self.classes_)

    def _priors(self, c: int) -> np.ndarray:
        if self.priors is None:
            return self.class_count_ / self.class_count_.sum()
        priors = np.asarray(self.priors, np.float64)
        if priors.shape != (c,) or (priors < 0).any() or abs(priors.sum() - 1) > 1e-8:
            raise InputError(
                f"priors has to be {c} probabilities that sum to 1, one for each class."
            )
        return priors

    def _joint(self, X: np.ndarray) -> np.ndarray:
        """(n, c) log p(x, y = c)."""
        with np.errstate(divide="ignore"):
            start = np.log(self.class_prior_) - 0.5 * np.log(2 * np.pi * self.var_).sum(
                1
            )
        far = [
            ((X - m) ** 2 / v).sum(1)
            for m, v in zip(self.theta_, self.var_, strict=True)
        ]
        return start - 0.5 * np.stack(far, axis=1)

    def _probs(self, X: np.ndarray) -> np.ndarray:
        eta = self._joint(finite_inputs(self, X))
        odds = np.exp(eta - eta.max(1, keepdims=True))
        return odds / odds.sum(1, keepdims=True)

    def __sklearn_tags__(self):
        return without_nan(super().__sklearn_tags__())
