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
    """A mean over rows, and its standard error.

    Examples:
        >>> score = lk.evaluate.squared_error(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 3.0]))
        >>> round(score.value, 3), round(score.error, 3)
        (1.667, 1.202)
    """

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


def mean_score(losses: Any, w: Any = None) -> Score:
    """The mean of a loss of each row, and its standard error.

    Examples:
        >>> print(lk.evaluate.mean_score(np.array([1.0, 2.0, 3.0])))
        2 ± 0.58
    """
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

    Examples:
        >>> a, b = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0])
        >>> print(lk.evaluate.paired_difference(a, b))
        1 ± 0.58
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.where(a == b, 0.0, a - b)
    return mean_score(gap, w)


def squared_error(y: Any, mean: Any, w: Any = None) -> Score:
    """The mean squared error.

    Examples:
        >>> print(lk.evaluate.squared_error(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 3.0])))
        1.667 ± 1.2
    """
    y, mean, w = present(y, mean, w=w)
    return mean_score((y - mean) ** 2, w)


def absolute_error(y: Any, median: Any, w: Any = None) -> Score:
    """The mean absolute error.

    Examples:
        >>> print(lk.evaluate.absolute_error(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 3.0])))
        1 ± 0.58
    """
    y, median, w = present(y, median, w=w)
    return mean_score(np.abs(y - median), w)


def pinball(y: Any, quantile: Any, level: float, w: Any = None) -> Score:
    """The pinball loss, which the quantile of a level minimises.

    Examples:
        >>> print(lk.evaluate.pinball(np.array([1.0, 2.0]), np.array([2.0, 1.0]), 0.9))
        0.5 ± 0.4
    """
    y, quantile, w = present(y, quantile, w=w)
    gap = y - quantile
    return mean_score(np.maximum(level * gap, (level - 1) * gap), w)


def r_squared(y: Any, mean: Any, w: Any = None) -> float:
    r"""The R² $1 - \sum w (y - \hat y)^2 / \sum w (y - \bar y)^2$.

    Examples:
        >>> float(lk.evaluate.r_squared(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])))
        0.5
    """
    y, mean, w = present(y, mean, w=w)
    spread = w @ (y - w @ y / w.sum()) ** 2
    return float(1 - w @ (y - mean) ** 2 / spread) if spread > 0 else float("nan")


def error_rate(codes: Any, probs: Any, w: Any = None) -> Score:
    """The share of rows whose most probable class is wrong.

    Examples:
        >>> probs = np.array([[0.8, 0.2], [0.3, 0.7]])
        >>> print(lk.evaluate.error_rate(np.array([0, 0]), probs))
        0.5 ± 0.5
    """
    codes, probs, w = coded(codes, probs, w)
    return mean_score((probs.argmax(1) != codes).astype(float), w)


def brier(codes: Any, probs: Any, w: Any = None) -> Score:
    """The Brier score: the squared error of the probabilities, summed over classes.

    Examples:
        >>> probs = np.array([[0.8, 0.2], [0.3, 0.7]])
        >>> print(lk.evaluate.brier(np.array([0, 1]), probs))
        0.13 ± 0.05
    """
    codes, probs, w = coded(codes, probs, w)
    happened = np.eye(probs.shape[1])[codes]
    return mean_score(((probs - happened) ** 2).sum(1), w)


def ranked_probability(codes: Any, probs: Any, w: Any = None) -> Score:
    r"""The ranked probability score of levels in an order: 0 is perfect, 1 the worst.

    $\frac{1}{c-1} \sum_{j<c} (P(Y \le j) - 1[y \le j])^2$: a probability far from the true
    level costs more than one beside it.

    Examples:
        >>> probs = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
        >>> print(lk.evaluate.ranked_probability(np.array([0, 2]), probs))
        0.0975 ± 0.047
    """
    codes, probs, w = coded(codes, probs, w)
    levels = np.arange(probs.shape[1] - 1)
    reached = np.cumsum(probs, axis=1)[:, :-1]
    gap = reached - (codes[:, None] <= levels)
    return mean_score((gap**2).sum(1) / max(len(levels), 1), w)


def median_levels(probs: Float[np.ndarray, "n c"]) -> Float[np.ndarray, " n"]:
    """The middle level of each row: the first with P(Y ≤ level) of at least one half.

    Examples:
        >>> lk.evaluate.median_levels(np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]))
        array([0., 2.])
    """
    reached = np.cumsum(probs, axis=1)[:, :-1]
    return (reached < 0.5 * (1 - 1e-12)).sum(1).astype(float)


def confusion(codes: Any, probs: Any, w: Any = None) -> Float[np.ndarray, "c c"]:
    """The confusion matrix: the weight of rows by class and by most probable class.

    Examples:
        >>> probs = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
        >>> lk.evaluate.confusion(np.array([0, 1, 1]), probs)
        array([[1., 0.],
               [1., 1.]])
    """
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
