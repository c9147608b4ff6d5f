r"""Scores of predictions, each with its standard error, and paired differences.

The score of this library is the held-out negative log-likelihood, in nats per unit of
weight: it is proper, it is defined for every distribution, and a difference of 0.1 means
that the truth was on average $e^{0.1}$ times likelier. The familiar scores are here too.

Weights are counts: a row of weight 2 is two rows, and the content of a row of weight 0
does not matter. With $\bar l = \sum w l / \sum w$ the standard error is
$\sqrt{\sum w (l - \bar l)^2 / ((\sum w - 1) \sum w)}$.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from likely.core.checks import check_weights


class Score(NamedTuple):
    """A mean over rows, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


def mean_score(losses: Any, w: Any = None) -> Score:
    """The mean of a loss of each row, and its standard error."""
    losses, w = present(losses, w=w)
    total = w.sum()
    mean = float(w @ losses / total)
    if total <= 1 or not np.isfinite(mean):
        return Score(mean, float("nan"))
    variance = float(w @ (losses - mean) ** 2) / (total - 1)
    return Score(mean, float(np.sqrt(variance / total)))


def paired_difference(a: Any, b: Any, w: Any = None) -> Score:
    """The mean of a − b on the same rows: less noisy than the difference of two means.

    Where both are infinite on a row, neither is better there.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.where(a == b, 0.0, a - b)
    return mean_score(gap, w)


def squared_error(y: Any, mean: Any, w: Any = None) -> Score:
    """The mean squared error."""
    y, mean, w = present(y, mean, w=w)
    return mean_score((y - mean) ** 2, w)


def absolute_error(y: Any, median: Any, w: Any = None) -> Score:
    """The mean absolute error."""
    y, median, w = present(y, median, w=w)
    return mean_score(np.abs(y - median), w)


def pinball(y: Any, quantile: Any, level: float, w: Any = None) -> Score:
    """The pinball loss, which the quantile of a level minimises."""
    y, quantile, w = present(y, quantile, w=w)
    gap = y - quantile
    return mean_score(np.maximum(level * gap, (level - 1) * gap), w)


def r_squared(y: Any, mean: Any, w: Any = None) -> float:
    r"""The R² $1 - \sum w (y - \hat y)^2 / \sum w (y - \bar y)^2$."""
    y, mean, w = present(y, mean, w=w)
    spread = w @ (y - w @ y / w.sum()) ** 2
    return float(1 - w @ (y - mean) ** 2 / spread) if spread > 0 else float("nan")


def error_rate(codes: Any, probs: Any, w: Any = None) -> Score:
    """The share of rows whose most probable class is wrong."""
    codes, probs, w = coded(codes, probs, w)
    return mean_score((probs.argmax(1) != codes).astype(float), w)


def brier(codes: Any, probs: Any, w: Any = None) -> Score:
    """The Brier score: the squared error of the probabilities, summed over classes."""
    codes, probs, w = coded(codes, probs, w)
    happened = np.eye(probs.shape[1])[codes]
    return mean_score(((probs - happened) ** 2).sum(1), w)


def ranked_probability(codes: Any, probs: Any, w: Any = None) -> Score:
    r"""The ranked probability score of levels in an order: 0 is perfect, 1 the worst.

    $\frac{1}{c-1} \sum_{j<c} (P(Y \le j) - 1[y \le j])^2$: a probability far from the true
    level costs more than one beside it.
    """
    codes, probs, w = coded(codes, probs, w)
    levels = np.arange(probs.shape[1] - 1)
    reached = np.cumsum(probs, axis=1)[:, :-1]
    gap = reached - (codes[:, None] <= levels)
    return mean_score((gap**2).sum(1) / max(len(levels), 1), w)


def median_levels(probs: Float[np.ndarray, "n c"]) -> Float[np.ndarray, " n"]:
    """The middle level of each row: the first with P(Y ≤ level) of at least one half."""
    reached = np.cumsum(probs, axis=1)[:, :-1]
    return (reached < 0.5 * (1 - 1e-12)).sum(1).astype(float)


def confusion(codes: Any, probs: Any, w: Any = None) -> Float[np.ndarray, "c c"]:
    """The confusion matrix: the weight of rows by class and by most probable class."""
    codes, probs, w = coded(codes, probs, w)
    table = np.zeros((probs.shape[1],) * 2)
    np.add.at(table, (codes, probs.argmax(1)), w)
    return table


def coded(codes: Any, probs: Any, w: Any) -> tuple[Any, Any, Any]:
    """The rows that have weight: classes as whole numbers, probabilities, weights."""
    codes, probs, w = present(codes, probs, w=w)
    return codes.astype(int), probs, w


def present(*arrays: Any, w: Any) -> list[Any]:
    """The rows that have weight, as float64, and their weights."""
    arrays_ = [np.asarray(a, np.float64) for a in arrays]
    w = check_weights(w, len(arrays_[0]))
    rows = w > 0
    return [*(a[rows] for a in arrays_), w[rows]]
