r"""Curves over thresholds: receiver operating characteristic, precision and recall.

A threshold t calls the rows with score ≥ t positive. Rows of equal score are one step,
so ties cost nothing and gain nothing; weights are counts.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.scores import present


class ThresholdCurve(NamedTuple):
    """Shares at falling thresholds; the first calls nothing positive."""

    thresholds: Float[np.ndarray, " t"]
    false_positive_rate: Float[np.ndarray, " t"]
    true_positive_rate: Float[np.ndarray, " t"]
    """Recall."""
    precision: Float[np.ndarray, " t"]
    """1 where nothing is called positive."""

    @property
    def area(self) -> float:
        """Under the ROC curve: P(a positive row scores higher than a negative one)."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))

    @property
    def average_precision(self) -> float:
        """Precision averaged over recall, by steps."""
        return float(np.diff(self.true_positive_rate) @ self.precision[1:])


def threshold_curve(positive: Any, score: Any, w: Any = None) -> ThresholdCurve:
    """How the shares of rows called positive change with the threshold.

    Args:
        positive: which rows are positive.
        score: higher where a row is more likely positive.
        w: how often each row counts.
    """
    positive, score, w = present(positive, score, w=w)
    yes, no = w * (positive > 0), w * (positive <= 0)
    if not (yes.any() and no.any()):
        raise InputError("a curve needs positive and negative rows; there is one kind.")
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    hits, alarms = np.cumsum(yes[order])[last], np.cumsum(no[order])[last]
    return ThresholdCurve(
        np.append(np.inf, score[order][last]),
        np.append(0.0, alarms / alarms[-1]),
        np.append(0.0, hits / hits[-1]),
        np.append(1.0, hits / (hits + alarms)),
    )
