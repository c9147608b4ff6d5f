"""The null models: the marginal distribution of y, whatever x is. Every model's first rival."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, no_type_check

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from likely import families
from likely.core.checks import InputError, check_weights
from likely.core.compiling import lean_jit
from likely.core.precision import float64
from likely.core.rows import pad
from likely.estimators.sparse import dense
from likely.families import AbstractFamily, Predictive
from likely.files import save
from likely.typing import Batch

FAMILIES = {
    "exponential": families.Exponential,
    "gamma": families.Gamma,
    "laplace": families.Laplace,
    "negative_binomial": families.NegativeBinomial,
    "normal": families.Normal,
    "poisson": families.Poisson,
}


class AbstractNull(BaseEstimator, ABC):
    """What both null models do; you write `predict_dist`."""

    @abstractmethod
    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean negative log-likelihood of (X, y), in nats per unit of weight."""
        log_prob = self.predict_dist(X).log_prob(np.asarray(y))
        return float(-np.average(log_prob, weights=sample_weight))

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)


class NullRegressor(RegressorMixin, AbstractNull):
    """p(y | x) = p(y): a family at its maximum-likelihood parameters.

    Args:
        family: one of "normal", "laplace", "gamma", "exponential", "poisson" and
            "negative_binomial"; several columns of y are independent.

    Attributes:
        eta_: the parameters.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, family: str = "normal"):
        self.family = family

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullRegressor":
        """Fit the marginal distribution of y."""
        if self.family not in FAMILIES:
            known = ", ".join(FAMILIES)
            raise InputError(f"family is {self.family!r}; give one of {known}.")
        y, w = _rows(self, X, y, sample_weight)
        y = y.astype(np.float64)
        family = FAMILIES[self.family]
        self.family_ = family()
        if y.ndim == 2:
            self.family_ = families.Product(*(family() for _ in y.T))
        self.family_.check(y, w)
        self.eta_ = _marginal(self.family_, y, w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        eta = _repeated(self, X)
        return Predictive(self.family_, eta)

    def predict(self, X: Any) -> np.ndarray:
        """E[y]."""
        return self.predict_dist(X).mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class NullClassifier(ClassifierMixin, AbstractNull):
    """P(y = c | x) = P(y = c): the shares of the classes.

    Attributes:
        classes_: the labels, sorted.
        eta_: the parameters.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NullClassifier":
        """Fit the shares of the classes."""
        y, w = _rows(self, X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        c = len(self.classes_)
        if c < 2:
            raise InputError(
                f"y has one class only ({self.classes_[0]!r}); "
                "a classifier needs rows of at least two classes."
            )
        self.family_ = families.Bernoulli() if c == 2 else families.Categorical(c)
        self.eta_ = _marginal(self.family_, codes.astype(np.float64), w)
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y), once for each row."""
        eta = _repeated(self, X)
        return Predictive(self.family_, eta, self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) shares of the classes."""
        return self.predict_dist(X).probs

    def predict(self, X: Any) -> np.ndarray:
        """The commonest class."""
        return self.predict_dist(X).mode

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _rows(estimator: Any, X: Any, y: Any, sample_weight: Any):
    """y and weights of the rows that are present; the columns of X are only counted."""
    X, y = validate_data(
        estimator,
        dense(X),
        y,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        multi_output=get_tags(estimator).target_tags.multi_output,
    )
    n = len(y)
    w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
    return y[w > 0], w[w > 0]


def _marginal(family: AbstractFamily, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    with float64():
        return np.asarray(_maximum(family, pad(Batch(None, y, w))))


@lean_jit
def _maximum(family: AbstractFamily, batch: Batch) -> Array:
    return family.marginal(jnp.asarray(batch.y), jnp.asarray(batch.w))


def _repeated(estimator: Any, X: Any) -> np.ndarray:
    check_is_fitted(estimator)
    X = validate_data(
        estimator,
        dense(X),
        reset=False,
        dtype=np.float64,
        ensure_all_finite="allow-nan",
    )
    return np.broadcast_to(estimator.eta_, (len(X), len(estimator.eta_)))
