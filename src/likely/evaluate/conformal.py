r"""Conformal prediction: intervals and sets that cover, whatever the model.

Take a score s(x, y) that is large where y does not fit x. On n rows that the model did
not see, let q be the $\lceil (n+1)(1-α) \rceil$-th smallest score. Then
$\{y : s(x, y) \le q\}$ holds a new y with probability at least $1 - α$, if rows are
exchangeable. No assumption is made on the model; a better one gives smaller sets.

For numbers with median m and interval ends l < m < h of the model,
$s = \max\bigl(\frac{m - y}{m - l}, \frac{y - m}{h - m}\bigr)$: at 1 y lies on the edge of the
model's own interval, and q is the factor by which that interval is stretched. For classes
$s = 1 - p_y$, which gives the smallest sets on average; a set may be empty.

A fixed threshold γ = 1 − α on the probabilities has no such guarantee: with it, the sets of
an over-confident model may cover 35 % where 90 % were wanted.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from likely.core.checks import InputError
from likely.evaluate.scores import coded, present


def radius(scores: Any, coverage: float, w: Any = None) -> float:
    """The score q that a new row exceeds with probability at most 1 − coverage.

    It is infinite where there are too few rows for this coverage.

    Examples:
        >>> lk.evaluate.radius(np.arange(1.0, 20.0), 0.9)
        18.0
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
    scores, w = present(scores, w=w)
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(w[order])
    needed = coverage * (w.sum() + 1) * (1 - 1e-12)
    index = int(np.searchsorted(reached, needed))
    return float(scores[order[index]]) if index < len(order) else float("inf")


def interval_scores(
    y: Any, low: Any, middle: Any, high: Any
) -> Float[np.ndarray, " n"]:
    """The distance of each y from the median, in units of the model's interval.

    Examples:
        >>> low, middle, high = np.array([0.0]), np.array([1.0]), np.array([3.0])
        >>> lk.evaluate.interval_scores(np.array([5.0]), low, middle, high)
        array([2.])
    """
    y, middle = np.asarray(y, np.float64), np.asarray(middle, np.float64)
    below, above = _widths(low, middle, high)
    return np.maximum((middle - y) / below, (y - middle) / above)


def stretched(
    low: Any, middle: Any, high: Any, q: Any
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The intervals whose scores are at most q.

    Examples:
        >>> low, middle, high = np.array([0.0]), np.array([1.0]), np.array([3.0])
        >>> print(*lk.evaluate.stretched(low, middle, high, 2.0))
        [-1.] [5.]
    """
    below, above = _widths(low, middle, high)
    return middle - q * below, middle + q * above


def _widths(low: Any, middle: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    """The widths of both sides of an interval, above zero so that scores are finite."""
    low, middle, high = (np.asarray(a, np.float64) for a in (low, middle, high))
    least = np.maximum(1e-3 * (high - low), np.finfo(np.float64).tiny ** 0.5)
    return np.maximum(middle - low, least), np.maximum(high - middle, least)


def band_scores(y: Any, low: Any, high: Any) -> Float[np.ndarray, " n"]:
    """How far each y lies outside of a band, negative inside (conformalised quantiles).

    Examples:
        >>> y, low, high = np.array([1.0, 5.0]), np.zeros(2), np.array([2.0, 3.0])
        >>> lk.evaluate.band_scores(y, low, high)
        array([-1.,  2.])
    """
    y, low, high = (np.asarray(a, np.float64) for a in (y, low, high))
    return np.maximum(low - y, y - high)


def widened(
    low: Any, high: Any, q: Any
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The bands with scores of at most q: wider by q on both sides, narrower where q < 0.

    A band that would be narrower than nothing is its middle.

    Examples:
        >>> low, high = lk.evaluate.widened(np.array([0.0]), np.array([1.0]), 0.5)
        >>> print(low, high)
        [-0.5] [1.5]
    """
    low, high = np.asarray(low, np.float64) - q, np.asarray(high, np.float64) + q
    middle = 0.5 * (low + high)
    crossed = low > high
    return np.where(crossed, middle, low), np.where(crossed, middle, high)


def class_scores(codes: Any, probs: Any) -> Float[np.ndarray, " n"]:
    """The scores 1 − p of the classes that occurred.

    Examples:
        >>> probs = np.array([[0.8, 0.2], [0.3, 0.7]])
        >>> lk.evaluate.class_scores(np.array([0, 0]), probs).round(2)
        array([0.2, 0.7])
    """
    probs = np.asarray(probs, np.float64)
    return 1 - probs[np.arange(len(probs)), np.asarray(codes).astype(int)]


def class_sets(probs: Any, q: float) -> Bool[np.ndarray, "n c"]:
    """The classes whose score is at most q.

    Examples:
        >>> lk.evaluate.class_sets(np.array([[0.8, 0.2], [0.45, 0.55]]), 0.6)
        array([[ True, False],
               [ True,  True]])
    """
    return 1 - np.asarray(probs, np.float64) <= q


def coverage_of_sets(codes: Any, sets: Any, w: Any = None) -> tuple[float, float]:
    """The share of rows whose class is in the set, and the mean size of the sets.

    Examples:
        >>> sets = np.array([[True, False], [True, True]])
        >>> share, size = lk.evaluate.coverage_of_sets(np.array([1, 1]), sets)
        >>> print(share, size)
        0.5 1.5
    """
    codes, sets, w = coded(codes, sets, w)
    covered = sets[np.arange(len(codes)), codes]
    return float(w @ covered / w.sum()), float(w @ sets.sum(1) / w.sum())


def coverage_of_intervals(y: Any, low: Any, high: Any, w: Any = None) -> float:
    """The share of rows within their interval.

    Examples:
        >>> y, low, high = np.array([1.0, 4.0]), np.zeros(2), np.full(2, 2.0)
        >>> float(lk.evaluate.coverage_of_intervals(y, low, high))
        0.5
    """
    y, low, high, w = present(y, low, high, w=w)
    return float(w @ ((low <= y) & (y <= high)) / w.sum())
