r"""Classifiers by the sign of a decision function: what `SVC` and `LinearSVC` share.

A machine gives a number for each row: its sign decides between two classes, or between a
class and the rest. Several machines vote ("ovo", one for each pair of classes) or the
largest wins ("ovr"). Probabilities are not part of this: they come from a calibration of
the decision values on held-out rows.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.metaestimators import available_if

from likely.base.labels import class_distribution
from likely.base.predictor import Predictor, distributes
from likely.core.checks import InputError
from likely.evaluate.assignment import ordered_folds
from likely.families import Predictive
from likely.models.kernels.svm.scaling import (
    PairScaling,
    Scaling,
    pair_scaling,
    scaling,
)

N_FOLDS = 5


class MarginClassifier(Predictor):
    """A classifier by margins; you write `fit`, `_values` and `_pairwise`."""

    scaling_: Scaling | PairScaling
    probability: bool

    @abstractmethod
    def _values(self, X: np.ndarray) -> Float[np.ndarray, "n m"]:
        """The decision values of each machine for checked rows."""

    @property
    @abstractmethod
    def _pairwise(self) -> bool:
        """Whether there is a machine for each pair of (more than two) classes."""

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,) f for two classes, (n, c) votes or values for more, (n, pairs) if asked."""
        values = self._values(self._inputs(X))
        if len(self.classes_) == 2:
            return values[:, 0]
        if not self._pairwise or getattr(self, "decision_function_shape", "") == "ovo":
            return values
        return votes(values, len(self.classes_))[0]

    @available_if(distributes)
    def predict_dist(self, X: Any) -> Predictive:
        """p(y | x) by the calibration on held-out folds."""
        scores = self._scores(self._values(self._inputs(X)))
        return class_distribution(self.scaling_(scores), self.classes_)

    def _decide(self, X: Any) -> np.ndarray:
        values = self._values(self._inputs(X))
        if len(self.classes_) == 2:
            return (values[:, 0] > 0).astype(int)
        if self._pairwise:
            scores, counts = votes(values, len(self.classes_))
            values = scores if getattr(self, "break_ties", True) else counts
        return values.argmax(1)

    def _without_distribution(self) -> str | None:
        if self.probability:
            return None
        return (
            f"{type(self).__name__} gives signs, not probabilities; fit it with "
            "probability=True to calibrate them on held-out folds."
        )

    def _scores(self, values: np.ndarray) -> Float[np.ndarray, "n m"]:
        """What a calibration is a function of: two classes have scores 0 and f."""
        if len(self.classes_) == 2:
            return np.c_[np.zeros(len(values)), values[:, 0]]
        return values

    def _calibration(
        self,
        codes: Int[np.ndarray, " n"],
        w: Float[np.ndarray, " n"],
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> Scaling | PairScaling:
        """The scaling of held-out scores, by maximum likelihood.

        Args:
            codes: class of each row.
            w: row weights.
            values: from rows to learn from and other rows to the decision values of the
                latter.
        """
        c, n = len(self.classes_), len(codes)
        k = min(N_FOLDS, int(np.bincount(codes, minlength=c).min()))
        if k > 1:
            fold = ordered_folds(n, k, classes=codes)
            parts = [np.flatnonzero(fold == j) for j in range(k)]
            held_out = [values(np.flatnonzero(fold != j), parts[j]) for j in range(k)]
        else:
            parts = [np.arange(n)]
            held_out = [values(parts[0], parts[0])]
            warnings.warn(
                "a class has a single row, so none can be held out; probabilities are "
                "calibrated on the rows of the fit and will be too sure.",
                UserWarning,
                stacklevel=3,
            )
        order = np.argsort(np.concatenate(parts))
        scores = self._scores(np.concatenate(held_out))[order]
        if self._pairwise:
            return pair_scaling(scores, codes, w, c)
        return scaling(scores, codes, w, biased=c == 2)


def slack_cost(C: Any) -> float:
    """The cost C of slack, which has to be above zero."""
    if not float(C) > 0:
        raise InputError(f"C is {C}; give a number above 0 (infinity: a hard margin).")
    return float(C)


def votes(
    values: Float[np.ndarray, "n m"], c: int
) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
    """Votes plus a fraction from the decision values that only breaks ties; plain votes."""
    counts, sums = np.zeros((2, len(values), c))
    for m, (i, j) in enumerate(combinations(range(c), 2)):
        counts[:, i] += values[:, m] > 0
        counts[:, j] += values[:, m] <= 0
        sums[:, i] += values[:, m]
        sums[:, j] -= values[:, m]
    return counts + sums / (3 * (np.abs(sums) + 1)), counts
