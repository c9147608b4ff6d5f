r"""Classifiers by the sign of a margin: what `SVC` and `LinearSVC` share.

A machine gives a number for each row: its sign decides between two classes, or between a
class and the rest. Several machines vote ("ovo", one for each pair of classes) or the
largest wins ("ovr"). Probabilities are not part of this: they come from a calibration of
the scores on held-out rows.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from likely.core.checks import InputError
from likely.estimators.finite import finite_inputs, without_nan
from likely.estimators.host import AbstractHostPredictor
from likely.families import Bernoulli, Categorical, Predictive
from likely.models.kernels.svm.scaling import (
    PairScaling,
    Scaling,
    pair_scaling,
    scaling,
)

FOLDS = 5


def _calibrates(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError(
            f"{type(estimator).__name__} gives signs, not probabilities; fit it with "
            "probability=True to calibrate them on held-out folds."
        )
    return True


class AbstractMarginClassifier(ClassifierMixin, AbstractHostPredictor, ABC):
    """A classifier by margins; you write `fit` and `_values`."""

    classes_: np.ndarray
    scaling_: Scaling | PairScaling
    probability: bool

    @abstractmethod
    def _values(self, X: np.ndarray) -> Float[np.ndarray, "n m"]:
        """What each machine says of each row."""

    @property
    @abstractmethod
    def _pairwise(self) -> bool:
        """Whether there is a machine for each pair of (more than two) classes."""

    def _encode(self, y: Any) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has one class only ({self.classes_[0]!r}); "
                "a classifier needs rows of at least two classes."
            )
        return codes.astype(np.float64)

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) f for two classes, (n, c) votes or values for more, (n, pairs) if asked."""
        values = self._values(finite_inputs(self, X))
        if len(self.classes_) == 2:
            return values[:, 0]
        if not self._pairwise or getattr(self, "decision_function_shape", "") == "ovo":
            return values
        return votes(values, len(self.classes_))[0]

    def predict(self, X: Any) -> np.ndarray:
        """The class on whose side each row lies."""
        values = self._values(finite_inputs(self, X))
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(int)]
        if self._pairwise:
            score, count = votes(values, len(self.classes_))
            values = score if getattr(self, "break_ties", True) else count
        return self.classes_[values.argmax(1)]

    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) by the calibration on held-out folds."""
        _calibrates(self)
        scores = self._scores(self._values(finite_inputs(self, X)))
        eta = self.scaling_(scores)
        if len(self.classes_) == 2:
            return Predictive(Bernoulli(), eta[:, 1:] - eta[:, :1], self.classes_)
        return Predictive(Categorical(len(self.classes_)), eta, self.classes_)

    @available_if(_calibrates)
    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, c) probabilities, classes in the order of `classes_`."""
        return self.predict_dist(X).probs

    @available_if(_calibrates)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(n, c) log-probabilities."""
        return np.log(self.predict_proba(X))

    @available_if(_calibrates)
    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """(n, c) booleans: the fewest classes that hold this much probability."""
        probs = self.predict_proba(X)
        order = np.argsort(-probs, axis=1, kind="stable")
        ranked = np.take_along_axis(probs, order, axis=1)
        chosen = np.zeros_like(probs, dtype=bool)
        before = np.cumsum(ranked, axis=1) - ranked
        np.put_along_axis(chosen, order, before < coverage, axis=1)
        return chosen

    def __sklearn_tags__(self):
        return without_nan(super().__sklearn_tags__())

    def _scores(self, values: np.ndarray) -> Float[np.ndarray, "n m"]:
        """What a calibration is a function of: two classes have scores 0 and f."""
        if len(self.classes_) == 2:
            return np.c_[np.zeros(len(values)), values[:, 0]]
        return values

    def _calibrated(
        self,
        codes: Int[np.ndarray, " n"],
        w: Float[np.ndarray, " n"],
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> Scaling | PairScaling:
        """The scaling of held-out scores; `values(inside, out)` learns and applies."""
        c, everyone = len(self.classes_), np.arange(len(codes))
        parts = held_out(codes, c)
        if parts:
            said = [values(np.setdiff1d(everyone, out), out) for out in parts]
        else:
            parts, said = [everyone], [values(everyone, everyone)]
            warnings.warn(
                "a class has a single row, so none can be held out; probabilities are "
                "calibrated on the rows of the fit and will be too sure.",
                UserWarning,
                stacklevel=3,
            )
        scores = self._scores(np.concatenate(said))[np.argsort(np.concatenate(parts))]
        if self._pairwise:
            return pair_scaling(scores, codes, w, c)
        return scaling(scores, codes, w, biased=c == 2)


def price(C: Any) -> float:
    """C, above zero."""
    if not float(C) > 0:
        raise InputError(f"C is {C}; give a number above 0 (infinity: a hard margin).")
    return float(C)


def sums(values: Float[np.ndarray, "n m"], c: int) -> Float[np.ndarray, "n c"]:
    """What the machines of each class say for it, summed."""
    total = np.zeros((len(values), c))
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        total[:, i] += values[:, m]
        total[:, j] -= values[:, m]
    return total


def votes(
    values: Float[np.ndarray, "n m"], c: int
) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
    """Votes with what was said as a fraction that only breaks ties, and votes."""
    count = np.zeros((len(values), c))
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        count[:, i] += values[:, m] > 0
        count[:, j] += values[:, m] <= 0
    said = sums(values, c)
    return count + said / (3 * (np.abs(said) + 1)), count


def held_out(codes: Int[np.ndarray, " n"], c: int) -> list[Int[np.ndarray, " k"]]:
    """The rows of each of five folds, every class dealt out evenly in its order.

    None where a class has a single row.
    """
    counts = np.bincount(codes, minlength=c)
    folds = min(FOLDS, int(counts.min()))
    rank = np.empty(len(codes), int)
    for k in range(c):
        rank[codes == k] = np.arange(counts[k])
    return [np.flatnonzero(rank % folds == fold) for fold in range(folds)] * (folds > 1)
