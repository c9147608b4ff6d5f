r"""Decisions by a threshold δ, $C_δ(x) = 1[h(x) > δ]$: precision, recall, ROC.

Precision TP/(TP+FP) is the share of predicted positives that are positive; recall
TP/(TP+FN) is the share of positives that are predicted so. With a higher δ recall falls
and precision mostly rises. Rows of equal probability are one step of the curves.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.scores import present


class OperatingPoints(NamedTuple):
    """Precision, recall and false-positive rate at t rising thresholds."""

    threshold: Float[np.ndarray, " t"]
    precision: Float[np.ndarray, " t"]
    """The precision; 1 where nothing is predicted positive."""
    recall: Float[np.ndarray, " t"]
    false_positive_rate: Float[np.ndarray, " t"]

    @property
    def f1(self) -> Float[np.ndarray, " t"]:
        """The harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / np.where(total > 0, total, 1.0)

    @property
    def youden(self) -> Float[np.ndarray, " t"]:
        """Youden's index: recall minus the false-positive rate."""
        return self.recall - self.false_positive_rate

    @property
    def area(self) -> float:
        """The area under the ROC curve: P(a positive row scores above a negative one)."""
        if not (self.recall[0] and self.false_positive_rate[0]):
            raise InputError(
                "a curve needs positive and negative rows; there is one kind."
            )
        return float(-np.trapezoid(self.recall, self.false_positive_rate))

    @property
    def average_precision(self) -> float:
        """The average precision: precision averaged over the steps of recall."""
        return float(-np.diff(self.recall) @ self.precision[:-1])

    def best(self, what: str) -> float:
        """The threshold with the largest "f1" or "youden"."""
        if what not in ("f1", "youden"):
            raise InputError(f'threshold is {what!r}; give a number, "f1" or "youden".')
        return float(self.threshold[np.argmax(getattr(self, what))])


def operating_points(y, probability, sample_weight=None) -> OperatingPoints:
    """Precision and recall of "probability > δ" at every δ that changes a decision.

    Args:
        y: (n,) truths, 1 for positive.
        probability: (n,) predicted probability of being positive.
        sample_weight: how often each row counts.

    Examples:
        >>> points = lk.evaluate.operating_points(np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9]))
        >>> print(points.precision.round(2), points.recall)
        [0.67 1.   1.   1.  ] [1.  1.  0.5 0. ]
    """
    y, p, w = present(y, probability, w=sample_weight)
    levels, index = np.unique(p, return_inverse=True)
    positive = np.bincount(index, w * y, len(levels))
    negative = np.bincount(index, w * (1 - y), len(levels))
    # above the i-th level are the levels after it; below the first, all
    tp = np.r_[positive[::-1].cumsum()[::-1], 0.0]
    fp = np.r_[negative[::-1].cumsum()[::-1], 0.0]
    between = (levels[1:] + levels[:-1]) / 2
    threshold = np.r_[levels[0] - 1e-9, between, levels[-1]]
    called = tp + fp
    precision = np.where(called > 0, tp / np.where(called > 0, called, 1.0), 1.0)
    share = lambda hits: hits / max(float(hits[0]), np.finfo(float).tiny)  # noqa: E731
    return OperatingPoints(threshold, precision, share(tp), share(fp))
