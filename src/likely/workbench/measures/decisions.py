r"""Decisions about classes: precision and recall by class, thresholds, and costs.

If a missed positive costs as much as r false alarms, the expected cost of a row is least
when it is called positive where its probability is above $1/(1+r)$. The costs are counted
on held-out rows with their recalibrated probabilities.
"""

import numpy as np
from jaxtyping import Float

from likely import evaluate
from likely.workbench.report.measured import ClassScores, Decision, Decisions

THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COST_RATIOS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""How many false alarms a missed positive costs."""
MAX_POINTS = 150
"""The largest number of points of a curve."""


def class_scores(
    counts: Float[np.ndarray, "c c"], labels: tuple[str, ...]
) -> tuple[ClassScores, ...]:
    """Precision and recall of each class, from the confusion matrix (true by predicted)."""
    found = []
    for label, right, rows, called in zip(
        labels, counts.diagonal(), counts.sum(1), counts.sum(0), strict=True
    ):
        precision = float(right / called) if called else None
        recall = float(right / rows) if rows else None
        total = float(rows + called)
        f1 = float(2 * right) / total if total else None
        found.append(
            ClassScores(label, float(rows), float(called), precision, recall, f1)
        )
    return tuple(found)


def decisions(
    y: Float[np.ndarray, " n"],
    p: Float[np.ndarray, " n"],
    w: Float[np.ndarray, " n"],
    positive: str,
) -> Decisions:
    """What follows from calling rows positive above a threshold.

    Args:
        y: the truths, 1 for positive.
        p: the recalibrated probabilities of being positive.
        w: how often each row counts.
        positive: the label of the positive class.
    """
    curve = evaluate.operating_points(y, p, w)
    keep = np.linspace(0, len(curve.threshold) - 1, MAX_POINTS).round().astype(int)
    keep = np.unique(keep)
    return Decisions(
        positive,
        tuple(_decision(y, p, w, threshold) for threshold in THRESHOLDS),
        tuple(_decision(y, p, w, 1 / (1 + r), r) for r in COST_RATIOS),
        curve.area,
        curve.average_precision,
        tuple(curve.false_positive_rate[keep]),
        tuple(curve.recall[keep]),
        tuple(curve.precision[keep]),
    )


def _decision(
    y: np.ndarray,
    p: np.ndarray,
    w: np.ndarray,
    threshold: float,
    ratio: float | None = None,
) -> Decision:
    called, total = p > threshold, w.sum()
    hits, alarms = w @ (called * y), w @ (called * (1 - y))
    positives = w @ y
    negatives = total - positives
    costs = ()
    if ratio is not None:
        missed = ratio * (positives - hits)
        costs = (missed + alarms) / total, ratio * positives / total, negatives / total
    return Decision(
        threshold,
        ratio,
        float((hits + alarms) / total),
        float(hits / (hits + alarms)) if hits + alarms else None,
        float(hits / positives),
        float(alarms / negatives),
        *map(float, costs),
    )
