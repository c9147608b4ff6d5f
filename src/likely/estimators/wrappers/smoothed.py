r"""Frequencies that are never zero: additive smoothing of the votes of a classifier.

The votes of k neighbours or of k trees can all be for one class, and then the others are
impossible; one such row costs a held-out likelihood more than all the rest. With one vote
more, spread over the classes as they are in the data,

$$p(c \mid x) = \frac{k\, f_c(x) + π_c}{k + 1}.$$
"""

from typing import Any, no_type_check

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from likely.base.calibration import votes_of
from likely.base.labels import frequency_distribution
from likely.base.predictor import Predictor
from likely.base.rows import weights_of
from likely.estimators.wrappers.columns import copy_column_names
from likely.families import Predictive


class SmoothedClassifier(MetaEstimatorMixin, ClassifierMixin, Predictor):
    """A classifier by votes, with one vote more for the classes as they are in the data.

    Args:
        classifier: what gives frequencies: a tree, a forest or neighbours (before they
            are calibrated), or any other classifier by its `predict_proba`.
        votes: k, how many votes those are made of.

    Attributes:
        classifier_: the fitted classifier.
        classes_: the labels, sorted.
        prior_: (c,) π, the weighted share of each class.

    Examples:
        >>> X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
        >>> model = lk.SmoothedClassifier(lk.KNeighborsClassifier(3)).fit(X, y)
        >>> print(model.predict_proba([[0.0]]).round(2))
        [[0.95 0.05]]
    """

    @no_type_check  # scikit-learn: settings are looked at in fit
    def __init__(self, classifier: Any, *, votes: float = 10.0):
        self.classifier = classifier
        self.votes = votes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SmoothedClassifier":
        """Fit the classifier, and count the classes.

        Args:
            X: (n, d) inputs, as the classifier takes them.
            y: (n,) classes.
            sample_weight: how often each row counts.
        """
        y = column_or_1d(y, warn=True)
        w = weights_of(sample_weight, len(y))
        fresh: Any = clone(self.classifier)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.classifier_ = fresh.fit(X, y, **weights)
        self.classes_ = self.classifier_.classes_
        copy_column_names(self, self.classifier_)
        codes = np.searchsorted(self.classes_, y[w > 0])
        count = np.bincount(codes, w[w > 0], minlength=len(self.classes_))
        self.prior_ = count / count.sum()
        return self

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) for each row."""
        return frequency_distribution(self._probs(X), self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags

    def _probs(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        k = float(self.votes)
        return (k * votes_of(self.classifier_, X) + self.prior_) / (k + 1)
