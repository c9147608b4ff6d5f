"""The null models: the marginal distribution of y, whatever x is. Every model's first rival."""

from typing import Any, ClassVar, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from likely import families
from likely.base.labels import class_family
from likely.base.marginal import family_of, fit_marginal, for_columns
from likely.base.predictor import Predictor
from likely.base.settings import store
from likely.families import AbstractFamily, Predictive

FAMILIES = {
    "exponential": families.Exponential,
    "gamma": families.Gamma,
    "laplace": families.Laplace,
    "negative_binomial": families.NegativeBinomial,
    "normal": families.Normal,
    "poisson": families.Poisson,
}


def _blank(estimator: Any, X: Any) -> np.ndarray:
    """Zeros in the shape of X, which may hold anything: words, categories, NaN."""
    options: dict[str, Any] = {"dtype": None, "accept_sparse": True}
    table = check_array(X, ensure_all_finite=False, estimator=estimator, **options)
    return np.zeros(table.shape)


def _count(estimator: Any, X: Any) -> int:
    """The number of rows of X, which has the columns of the fit."""
    check_is_fitted(estimator)
    check: Any = validate_data
    options = {"dtype": None, "accept_sparse": True, "ensure_all_finite": False}
    return check(estimator, X, reset=False, **options).shape[0]


def _family_of_targets(
    family: AbstractFamily, y: np.ndarray
) -> tuple[AbstractFamily, np.ndarray]:
    """The family of rows of y, and y in the shape that it takes."""
    if y.ndim == 1 and not family.multivariate:
        return family, y
    table = y.reshape(len(y), -1)
    if table.shape[1] == 1 and not family.multivariate:
        return families.Product(family), table
    return for_columns(family, table.shape[1]), table


class NullRegressor(RegressorMixin, Predictor):
    """p(y | x) = p(y): a family at its maximum-likelihood parameters.

    Args:
        family: one of "normal", "laplace", "gamma", "exponential", "poisson" and
            "negative_binomial", or a family of `likely.families`; several columns of y
            are independent, unless the family is one of several outputs.

    Attributes:
        family_: the family of p(y).
        eta_: (k,) its parameters η.

    Examples:
        >>> X, y = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])
        >>> print(lk.NullRegressor().fit(X, y).predict(X[:1]))
        [2.5]
    """

    _allows_missing: ClassVar[bool] = True
    _allows_outputs: ClassVar[bool] = True
    family: Any
    family_: AbstractFamily

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, family: Any = "normal"):
        store(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullRegressor":
        """Fit the marginal distribution of y.

        Args:
            X: (n, d) inputs of any kind, of which the columns are only counted.
            y: (n,) or (n, q) numbers.
            sample_weight: how often each row counts.
        """
        family = family_of(self.family, FAMILIES)
        rows = self._rows(_blank(self, X), y, sample_weight).present()
        validate_data(self, X, skip_check_array=True)  # the names of the columns
        self.family_, targets = _family_of_targets(family, rows.y)
        self.eta_ = fit_marginal(self.family_, targets, rows.w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        n = _count(self, X)
        eta = np.broadcast_to(self.eta_, (n, len(self.eta_)))
        return Predictive(self.family_, eta)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.input_tags.string = True
        return tags


class NullClassifier(ClassifierMixin, Predictor):
    """P(y = c | x) = P(y = c): the shares of the classes.

    Attributes:
        classes_: the labels, sorted.
        family_: the family of p(y).
        eta_: (k,) its parameters η.

    Examples:
        >>> X, y = np.zeros((4, 1)), np.array(["no", "no", "no", "yes"])
        >>> print(lk.NullClassifier().fit(X, y).predict_proba(X[:1]).round(2))
        [[0.75 0.25]]
    """

    _allows_missing: ClassVar[bool] = True
    family_: AbstractFamily

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullClassifier":
        """Fit the shares of the classes.

        Args:
            X: (n, d) inputs of any kind, of which the columns are only counted.
            y: (n,) labels.
            sample_weight: how often each row counts.
        """
        rows = self._rows(_blank(self, X), y, sample_weight).present()
        validate_data(self, X, skip_check_array=True)  # the names of the columns
        self.family_ = class_family(len(self.classes_))
        self.eta_ = fit_marginal(self.family_, rows.y, rows.w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        n = _count(self, X)
        eta = np.broadcast_to(self.eta_, (n, len(self.eta_)))
        return Predictive(self.family_, eta, self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.string = True
        return tags
