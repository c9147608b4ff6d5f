"""The null models: the marginal distribution of y, whatever x is. Every model's first rival."""

from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from likely import families
from likely.base.labels import class_family
from likely.base.marginal import fit_marginal
from likely.base.predictor import Predictor
from likely.base.settings import one_of, store
from likely.families import AbstractFamily, Predictive

FAMILIES = {
    "exponential": families.Exponential,
    "gamma": families.Gamma,
    "laplace": families.Laplace,
    "negative_binomial": families.NegativeBinomial,
    "normal": families.Normal,
    "poisson": families.Poisson,
}


class NullRegressor(RegressorMixin, Predictor):
    """p(y | x) = p(y): a family at its maximum-likelihood parameters.

    Args:
        family: one of "normal", "laplace", "gamma", "exponential", "poisson" and
            "negative_binomial"; several columns of y are independent.

    Attributes:
        family_: the family of p(y).
        eta_: (k,) its parameters η.
    """

    _allows_missing: ClassVar[bool] = True
    _allows_outputs: ClassVar[bool] = True
    family: Any
    family_: AbstractFamily

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, family: str = "normal"):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullRegressor":
        """Fit the marginal distribution of y.

        Args:
            X: (n, d) inputs, of which the columns are only counted.
            y: (n,) or (n, q) numbers.
            sample_weight: how often each row counts.
        """
        family = FAMILIES[one_of("family", self.family, FAMILIES)]
        rows = self._rows(X, y, sample_weight).present()
        self.family_ = family()
        if rows.y.ndim == 2:
            self.family_ = families.Product(*(family() for _ in rows.y.T))
        self.eta_ = fit_marginal(self.family_, rows.y, rows.w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        n = len(self._inputs(X))
        eta = np.broadcast_to(self.eta_, (n, len(self.eta_)))
        return Predictive(self.family_, eta)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class NullClassifier(ClassifierMixin, Predictor):
    """P(y = c | x) = P(y = c): the shares of the classes.

    Attributes:
        classes_: the labels, sorted.
        family_: the family of p(y).
        eta_: (k,) its parameters η.
    """

    _allows_missing: ClassVar[bool] = True
    family_: AbstractFamily

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullClassifier":
        """Fit the shares of the classes.

        Args:
            X: (n, d) inputs, of which the columns are only counted.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        rows = self._rows(X, y, sample_weight).present()
        self.family_ = class_family(len(self.classes_))
        self.eta_ = fit_marginal(self.family_, rows.y, rows.w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        n = len(self._inputs(X))
        eta = np.broadcast_to(self.eta_, (n, len(self.eta_)))
        return Predictive(self.family_, eta, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
