r"""Frequencies that are never zero: one vote more, for what is common (additive smoothing).

Votes of k neighbours or of T trees can all be for one class, and then the others are
impossible; one such row costs a held-out likelihood more than all the rest. With one vote
more, spread over the classes as they are in the data,

$$p(c \mid x) = \frac{k\, f_c(x) + π_c}{k + 1}.$$
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.core.checks import check_weights
from likely.families import Bernoulli, Categorical, Predictive


class SmoothedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier by votes, with one vote more.

    Args:
        classifier: what gives frequencies as `predict_proba`.
        votes: k, how many votes those are made of.

    Attributes:
        classifier_: the fitted one.
        classes_: the labels, sorted.
        prior_: (c,) π.
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, classifier: Any, *, votes: float = 10.0):
        self.classifier = classifier
        self.votes = votes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SmoothedClassifier":
        """Fit the classifier, and count the classes.

        Args:
            X: (n, d) inputs.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        y = column_or_1d(y, warn=True)
        n = len(y)
        w = check_weights(np.ones(n) if sample_weight is None else sample_weight, n)
        fresh: Any = clone(self.classifier)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.classifier_ = fresh.fit(X, y, **weights)
        self.classes_ = self.classifier_.classes_
        self.n_features_in_ = self.classifier_.n_features_in_
        codes = np.searchsorted(self.classes_, y[w > 0])
        count = np.bincount(codes, w[w > 0], minlength=len(self.classes_))
        self.prior_ = count / count.sum()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) probabilities, classes in the order of `classes_`."""
        check_is_fitted(self)
        k = float(self.votes)
        return (k * self.classifier_.predict_proba(X) + self.prior_) / (k + 1)

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row."""
        logs = np.log(self.predict_proba(X))
        if len(self.classes_) == 2:
            return Predictive(Bernoulli(), logs[:, 1:] - logs[:, :1], self.classes_)
        return Predictive(Categorical(len(self.classes_)), logs, self.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags
