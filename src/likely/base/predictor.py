r"""The face of every predictor: all of it derived from `predict_dist`, in one place.

A predictor writes `fit` and `predict_dist`. From the distribution follow

    predict            the mean, or the most probable class
    predict_interval   the central interval (numbers)
    predict_proba      probabilities, their logarithms, the smallest set (classes)
    nll                the mean of −log p(y | x), in nats per unit of weight
    score              scikit-learn's: R² or accuracy, from its mixins

so it does not matter whether the learner is a program, runs on the host, or wraps other
estimators. A public class names scikit-learn's mixin first:

    class KNeighborsClassifier(ClassifierMixin, Predictor): ...

The methods that begin with an underscore and are not abstract are defaults that a class
may replace by a quicker way to the same numbers.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from likely.base.labels import encode_labels, smallest_set
from likely.base.rows import (
    Rows,
    check_inputs,
    check_numbers,
    check_rows,
    weights_of,
)
from likely.files import save


def classifies(predictor: Any) -> bool:
    """Whether y is a class; what a class asks of a probability needs one."""
    return _distributes(predictor) and predictor._predicts_classes


def regresses(predictor: Any) -> bool:
    """Whether y is a number that has a distribution."""
    return _distributes(predictor) and not predictor._predicts_classes


def distributes(predictor: Any) -> bool:
    """Whether there is a distribution; if not, an AttributeError says why."""
    return _distributes(predictor)


def _distributes(predictor: Any) -> bool:
    reason = predictor._without_distribution()
    if reason is not None:
        raise AttributeError(reason)
    return True


def rows_that_count(
    X: Any, y: Any, sample_weight: Any, known: Mapping[str, Any] | None = None
) -> tuple[Any, np.ndarray, np.ndarray, dict[str, Any]]:
    """The rows of positive weight, to be judged: inputs, targets, weights.

    Args:
        X: inputs of any kind.
        y: targets.
        sample_weight: how often each row counts, or None.
        known: what else is given for each row, or for all.
    """
    y, known = np.asarray(y), dict(known or {})
    w = weights_of(sample_weight, len(y))
    here = np.flatnonzero(w > 0)
    if len(here) == len(w):
        return X, y, w, known
    for name, value in known.items():
        known[name] = np.asarray(value)[here] if np.ndim(value) else value
    return _safe_indexing(X, here), y[here], w[here], known


class Predictor(BaseEstimator, ABC):
    """What every predictor offers; you write `fit` and `predict_dist`."""

    _allows_missing: ClassVar[bool] = False
    """Whether X may hold NaN."""
    _allows_outputs: ClassVar[bool] = False
    """Whether y may have several columns."""
    _positive_targets: ClassVar[bool] = False
    """Whether y has to be positive."""
    classes_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def predict_dist(self, X: Any) -> Any:
        """p(y | x) for each row: the primitive from which all predictions derive."""

    def predict(self, X: Any, **known: Any) -> np.ndarray:
        """The mean of y given x, or its most probable class, for each row.

        It is that of the fitted parameters. Where `predict_dist` includes their
        uncertainty its mean may be another one: that of a log-linear model is larger,
        for e^η has a larger mean than e to the mean of η.

        Args:
            X: (n, d) inputs.
            known: what else is known of the rows, where the model takes it
                (`exposure`, `offset`).
        """
        if not self._predicts_classes:
            return self._mean(X, **known)
        codes = self._decide(X)
        return self.classes_[codes]

    @available_if(regresses)
    def predict_interval(
        self, X: Any, coverage: float = 0.9, **options: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the central predictive interval.

        Args:
            X: (n, d) inputs.
            coverage: the probability that the interval holds y.
            options: of `predict_dist`.
        """
        return self.predict_dist(X, **options).interval(coverage)

    @available_if(classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) probabilities, classes in the order of `classes_`."""
        return self._probs(X)

    @available_if(classifies)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, c) log-probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self._probs(X))

    @available_if(classifies)
    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, c) booleans: the fewest classes that hold this much probability."""
        return smallest_set(self._probs(X), coverage)

    @available_if(distributes)
    def nll(self, X: Any, y: Any, sample_weight: Any = None, **known: Any) -> float:
        """The mean of −log p(y | x) over rows, in nats per unit of weight.

        p is that of `predict_dist`. It is infinite, with a warning, where a y is
        impossible, or a row is one about which nothing is known.

        Args:
            X: (n, d) inputs.
            y: (n,) targets.
            sample_weight: how often each row counts; rows of weight 0 are absent,
                whatever they hold.
            known: what else is known of the rows, where the model takes it
                (`exposure`, `offset`).
        """
        X, y, w, known = rows_that_count(X, y, sample_weight, known)
        log_prob = self.predict_dist(X, **known).log_prob(y)
        never = np.isneginf(log_prob)
        if never.any():
            warnings.warn(
                f"{type(self).__name__} gives y no probability in {never.sum()} of "
                f"{len(y)} rows (first in row {np.argmax(never)} of those that count), so "
                "nll is infinite.",
                stacklevel=2,
            )
        return float(-np.average(log_prob, weights=w))

    def save(
        self, path: str | PathLike, *, card: Mapping[str, Any] | None = None
    ) -> None:
        """Save to a file that holds no code; `likely.load` brings it back."""
        save(self, path, card=card)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._allows_missing
        tags.target_tags.multi_output = self._allows_outputs
        tags.target_tags.positive_only = self._positive_targets
        tags.target_tags.required = True
        return tags

    # Rows ------------------------------------------------------------------------------

    def _rows(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        """Checked rows of a fit, y as numbers; a classifier gets its `classes_`."""
        rows = check_rows(self, X, y, sample_weight, sparse=self._takes_sparse)
        if not self._predicts_classes:
            return rows._replace(y=check_numbers(self, rows.y))
        self.classes_, codes = encode_labels(rows.y)
        return rows._replace(y=codes)

    def _inputs(self, X: Any) -> Any:
        """Checked inputs to predict from."""
        return check_inputs(
            self, X, allow_nan=self._allows_missing, sparse=self._takes_sparse
        )

    # Defaults that may be replaced -----------------------------------------------------

    @property
    def _takes_sparse(self) -> bool:
        """Whether a large sparse matrix is taken as it is, and not made dense."""
        return False

    @property
    def _predicts_classes(self) -> bool:
        """Whether y is a class."""
        return isinstance(self, ClassifierMixin)

    def _without_distribution(self) -> str | None:
        """Why there is no distribution, or None."""
        return None

    def _plug_in(self, X: Any, **known: Any) -> Any:
        """p(y | x) at the fitted parameters, as if they were known."""
        return self.predict_dist(X, **known)

    def _mean(self, X: Any, **known: Any) -> np.ndarray:
        """E[y | x] of each row."""
        return self._plug_in(X, **known).mean

    def _probs(self, X: Any) -> np.ndarray:
        """(n, c) probabilities."""
        return self._plug_in(X).probs

    def _decide(self, X: Any) -> np.ndarray:
        """The code of the class that is predicted for each row."""
        return self._probs(X).argmax(-1)
