r"""Errors and tests of the area under the ROC curve, by DeLong, DeLong and Clarke-Pearson.

The area is the mean over pairs of a positive and a negative row of 1 where the positive one
scores higher, ½ where both score the same. With $V_i$ the mean of that over the negative rows
for a positive row i, and $U_j$ the one over the positive rows for a negative row j,

$$\operatorname{var}(\hat A) = \frac{s^2(V)}{n_+} + \frac{s^2(U)}{n_-} .$$

For two scores of the same rows the same formula of the differences of V and of U gives the
variance of the difference of both areas. One sort, whatever the number of pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from likely.core.checks import InputError
from likely.evaluate.comparison import Comparison
from likely.evaluate.roc import roc_curve
from likely.evaluate.scores import present


class AucEstimate(NamedTuple):
    """The area under the ROC curve with its standard error and interval."""

    value: float
    error: float
    interval: tuple[float, float]
    coverage: float
    """The probability that the interval holds the true area."""

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"AUC {self.value:.4f} ± {self.error:.2g}, {self.coverage:.0%} interval "
            f"{low:.4f} to {high:.4f}"
        )


def auc_interval(
    y: Any, score: Any, w: Any = None, *, coverage: float = 0.95
) -> AucEstimate:
    """The area under the ROC curve with DeLong's standard error.

    The interval is symmetric on the scale of log-odds, so it stays between 0 and 1.

    Args:
        y: (n,) truths, 1 for positive and 0 for negative.
        score: (n,) any number that is larger for rows that are rather positive.
        w: how often each row counts.
        coverage: of the interval.

    Examples:
        >>> y, score = np.array([0, 0, 1, 1, 1]), np.array([1.0, 3.0, 2.0, 4.0, 5.0])
        >>> print(lk.evaluate.auc_interval(y, score))
        AUC 0.8333 ± 0.24, 95% interval 0.1523 to 0.9929
    """
    z = _quantile(coverage)
    y, score, w = _checked(y, score, w)
    V, U = _placements(y, score, w)
    value = float(np.average(V, weights=w[y == 1]))
    error = _error(V, U, y, w)
    if 0 < value < 1 and error > 0:
        middle, half = np.log(value / (1 - value)), z * error / (value * (1 - value))
        ends = 1 / (1 + np.exp(-np.array([middle - half, middle + half])))
    else:  # a perfect order, or one kind of pairs: as for m successes in m trials
        m = min(w[y == 1].sum(), w[y == 0].sum())
        least = (0.5 * (1 - coverage)) ** (1 / m)
        ends = [least if value == 1 else 0.0, 1 - least if value == 0 else 1.0]
    return AucEstimate(value, error, (float(ends[0]), float(ends[1])), coverage)


def auc_test(
    y: Any,
    a: Any,
    b: Any,
    w: Any = None,
    *,
    coverage: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """DeLong's test of two scores of the same rows by the areas under their ROC curves.

    Args:
        y: (n,) truths, 1 for positive and 0 for negative.
        a: (n,) the score of the first model.
        b: (n,) the score of the second.
        w: how often each row counts.
        coverage: of the interval; a difference is shown where p is at most 1 − coverage.
        names: of the two models, for the verdict.

    Examples:
        >>> y, a = np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 2.0, 4.0, 3.0, 5.0, 6.0])
        >>> round(lk.evaluate.auc_test(y, a, -a).difference, 3)
        0.778
    """
    z = _quantile(coverage)
    (y, a, w), b = _checked(y, a, w), _checked(y, b, w)[1]
    first, second = _placements(y, a, w), _placements(y, b, w)
    V, U = (one - other for one, other in zip(first, second, strict=True))
    d, s = float(np.average(V, weights=w[y == 1])), _error(V, U, y, w)
    p = float(2 * norm.sf(abs(d) / s)) if s > 0 else float(d == 0)
    ends = d - z * s, d + z * s
    return Comparison(names, "AUC", d, s, ends, coverage, p, "DeLong's test", True)


def _checked(y: Any, score: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows that count, looked at in the same way as those of a curve."""
    roc_curve(y, score, w)
    y, score, w = present(y, score, w=w)
    return y, score, w


def _placements(
    y: np.ndarray, score: np.ndarray, w: np.ndarray
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " q"]]:
    """V of the positive rows, U of the negative ones."""
    sides = [(score[y == kind], w[y == kind]) for kind in (1, 0)]
    (high, w_high), (low, w_low) = sides
    return _below(high, low, w_low), 1 - _below(low, high, w_high)


def _below(x: np.ndarray, others: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The share of others below each x, equal ones counted half."""
    order = np.argsort(others, kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(w[order])]) / w.sum()
    left, right = (
        np.searchsorted(others[order], x, side) for side in ("left", "right")
    )
    return 0.5 * (reached[left] + reached[right])


def _error(V: np.ndarray, U: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """The standard error of a mean over pairs; NaN where one kind has a single row."""
    variance = 0.0
    for values, weight in ((V, w[y == 1]), (U, w[y == 0])):
        total = weight.sum()
        if total <= 1:
            return float("nan")
        mean = np.average(values, weights=weight)
        variance += float(weight @ (values - mean) ** 2) / (total - 1) / total
    return float(np.sqrt(variance))


def _quantile(coverage: float) -> float:
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
    return float(norm.ppf(0.5 + 0.5 * coverage))
