r"""The ROC curve of a score and the area under it.

A row is called positive where its score is at least δ. As δ falls, the share of positive rows
that are called so (the true-positive rate) rises against that of negative rows (the
false-positive rate). The area under this curve is the probability that a positive row scores
above a negative one, ties counted half: it judges the ranking, and not the calibration.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present

AVERAGES = ("macro", "weighted", None)


class RocCurve(NamedTuple):
    """The rates at t falling thresholds; rows of equal score are one step."""

    false_positive_rate: Float[np.ndarray, " t"]
    true_positive_rate: Float[np.ndarray, " t"]
    threshold: Float[np.ndarray, " t"]
    """The least score that is called positive; infinite at first."""

    @property
    def area(self) -> float:
        """The area under the curve."""
        return float(np.trapezoid(self.true_positive_rate, self.false_positive_rate))


def roc_curve(y: Any, score: Any, w: Any = None) -> RocCurve:
    """The rates of false and true positives at every threshold of a score.

    Args:
        y: (n,) truths, 1 for positive and 0 for negative.
        score: (n,) any number that is larger for rows that are rather positive, such as the
            predicted probability.
        w: how often each row counts.

    Examples:
        >>> curve = lk.evaluate.roc_curve(np.array([0, 1, 1]), np.array([0.2, 0.1, 0.9]))
        >>> print(curve.false_positive_rate, curve.true_positive_rate)
        [0. 0. 1. 1.] [0.  0.5 0.5 1. ]
    """
    y, score, w = present(y, score, w=w)
    if y.ndim != 1 or score.shape != y.shape:
        raise InputError(
            f"y has shape {y.shape} and score {score.shape}; give one number of each for "
            "a row."
        )
    if not np.isin(y, (0, 1)).all():
        raise InputError("y has other values than 0 and 1; give 1 for positive rows.")
    if np.isnan(score).any():
        raise InputError(f"score is NaN in row {int(np.isnan(score).argmax())}.")
    levels, index = np.unique(-score, return_inverse=True)
    counts = [np.bincount(index, w * hit, len(levels)) for hit in (1 - y, y)]
    for name, count in zip(("negative", "positive"), counts, strict=True):
        if not count.sum() > 0:
            raise InputError(f"y has no {name} row; a curve needs rows of both kinds.")
    below = [np.concatenate([[0.0], count.cumsum() / count.sum()]) for count in counts]
    return RocCurve(below[0], below[1], np.concatenate([[np.inf], -levels]))


def auc(
    codes: Any, probs: Any, w: Any = None, *, average: str | None = "macro"
) -> float | Float[np.ndarray, " c"]:
    """The area under the ROC curve; for several classes that of each against the rest.

    Args:
        codes: (n,) the class of each row, as a number from 0.
        probs: (n,) the probability (or any score) of class 1, or (n, c) those of all classes.
        w: how often each row counts.
        average: over more than two classes: "macro", the plain mean; "weighted", by the
            weight of each class; None for the area of every class.

    Examples:
        >>> lk.evaluate.auc(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
        0.75
    """
    if average not in AVERAGES:
        raise InputError(f'average is {average!r}; give "macro", "weighted" or None.')
    probs = np.asarray(probs, np.float64)
    if probs.ndim == 1 or probs.shape[1] == 2:
        score = probs if probs.ndim == 1 else probs[:, 1]
        return roc_curve(codes, score, w).area
    codes, probs, w = coded(codes, probs, w)
    classes = range(probs.shape[1])
    weight = np.array([w[codes == c].sum() for c in classes])
    missing = [c for c in classes if not weight[c] > 0]
    if missing or len(probs) and codes.max() >= len(weight):
        what = (
            f"class {missing[0]} has no row" if missing else "codes has other classes"
        )
        raise InputError(
            f"{what}; the area needs rows of each of {len(weight)} classes."
        )
    areas = np.array([roc_curve(codes == c, probs[:, c], w).area for c in classes])
    if average is None:
        return areas
    return float(np.average(areas, weights=weight if average == "weighted" else None))
