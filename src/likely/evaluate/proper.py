r"""Proper scores of predicted distributions: the true one has the lowest expected score.

    log score      $-\log p(y)$, in nats
    CRPS           $\int (F(t) - 1[t \ge y])^2 dt = E|Y - y| - \tfrac12 E|Y - Y'|$, in units of y
    energy score   $E\lVert Y - y\rVert - \tfrac12 E\lVert Y - Y'\rVert$, the CRPS of vectors
    interval score $(h - l) + \tfrac2α \bigl((l - y)_+ + (y - h)_+\bigr)$, in units of y

The last three are as large as the error of a point prediction where a distribution is one
point. From m draws $x_1, \dots, x_m$ the first expectation is a mean; the second one is the
mean over all pairs, which treats the draws as the whole distribution, or over pairs of
different draws (`fair`), which is unbiased for the distribution they were drawn from.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError
from likely.evaluate.scores import Score, mean_score

BLOCK_ENTRIES = 4_000_000
"""The most distances between pairs of draws that are held in memory at once."""


def log_score(y: Any, dist: Any, w: Any = None) -> Score:
    """The mean of −log p(y), in nats; infinite where some y was impossible.

    Args:
        y: (n,) what was observed.
        dist: its predicted distribution.
        w: how often each row counts.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((2, 1)))
        >>> print(lk.evaluate.log_score(np.array([0.0, 1.0]), dist))
        1.169 ± 0.25
    """
    return mean_score(-np.asarray(dist.log_prob(y), np.float64), w)


def crps(y: Any, dist: Any, w: Any = None) -> Score:
    """The mean of the continuous ranked probability score, by a formula where there is one.

    Args:
        y: (n,) what was observed.
        dist: its predicted distribution; with several outputs, the mean over outputs.
        w: how often each row counts.

    Examples:
        >>> dist = lk.families.Predictive(lk.families.Normal(1.0), np.zeros((2, 1)))
        >>> print(lk.evaluate.crps(np.array([0.0, 1.0]), dist))
        0.4181 ± 0.18
    """
    each = np.asarray(dist.crps(y), np.float64)
    return mean_score(each.reshape(len(each), -1).mean(1), w)


def interval_score(
    y: Any, low: Any, high: Any, coverage: float, w: Any = None
) -> Score:
    """The mean of the score of intervals: their width, and a penalty for what they miss.

    Args:
        y: (n,) what was observed.
        low: (n,) lower ends.
        high: (n,) upper ends.
        coverage: 1 − α, the probability that the intervals are meant to have.
        w: how often each row counts.

    Examples:
        >>> y, low, high = np.array([1.0, 4.0]), np.zeros(2), np.full(2, 2.0)
        >>> print(lk.evaluate.interval_score(y, low, high, 0.9))
        22 ± 20
    """
    if not 0 < coverage < 1:
        raise InputError(f"coverage is {coverage}; give a number between 0 and 1.")
    y, low, high = (np.asarray(a, np.float64) for a in (y, low, high))
    missed = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return mean_score(high - low + 2 / (1 - coverage) * missed, w)


def energy_score(y: Any, draws: Any, w: Any = None, *, fair: bool = True) -> Score:
    """The mean energy score of several outputs, from draws of their joint distribution.

    It sees a wrong dependence between outputs, which the score of each output does not.

    Args:
        y: (n, q) what was observed; (n,) is one output, and the score is the CRPS.
        draws: (m, n, q) draws for each row, such as `dist.sample(m)` returns.
        w: how often each row counts.
        fair: whether the score is that of the distribution the draws come from, without
            bias, or that of the draws themselves.

    Examples:
        >>> draws = np.random.default_rng(0).normal(size=(100, 3, 2))
        >>> found = lk.evaluate.energy_score(np.zeros((3, 2)), draws)
        >>> found.value > 0
        True
    """
    y, draws = np.asarray(y, np.float64), np.asarray(draws, np.float64)
    if draws.shape[1:] != y.shape or y.ndim not in (1, 2):
        raise InputError(
            f"y has shape {y.shape} and draws {draws.shape}; give draws of shape (m, n, q) "
            "for y of shape (n, q)."
        )
    m = len(draws)
    if m < 1 + fair:
        raise InputError(
            f"{m} draws are too few for a fair score; give at least 2, or fair=False."
        )
    if y.ndim == 1:
        return mean_score(_ensemble_crps(y, draws, fair), w)
    near = np.sqrt(((draws - y) ** 2).sum(-1)).mean(0)
    apart = _mean_distance(draws) * (m / (m - 1) if fair else 1.0)
    return mean_score(near - 0.5 * apart, w)


def _ensemble_crps(
    y: Float[np.ndarray, " n"], draws: Float[np.ndarray, "m n"], fair: bool
) -> Float[np.ndarray, " n"]:
    r"""The score of m numbers: $\sum_{i<j} |x_i - x_j|$ by one sort of each row."""
    m = len(draws)
    ranked = np.sort(draws, axis=0)
    rank = 2.0 * np.arange(1, m + 1) - m - 1
    apart = np.tensordot(rank, ranked, axes=1) / (m * (m - fair))
    return np.abs(draws - y).mean(0) - apart


def _mean_distance(draws: Float[np.ndarray, "m n q"]) -> Float[np.ndarray, " n"]:
    """The mean distance of two of the m draws of each row, equal ones among them."""
    m, n, _ = draws.shape
    found, block = np.empty(n), max(1, BLOCK_ENTRIES // m**2)
    for start in range(0, n, block):
        gaps = np.zeros((len(draws[0, start : start + block]), m, m))
        for x in draws[:, start : start + block].T:  # (rows, m) of each output
            gaps += (x[:, :, None] - x[:, None, :]) ** 2
        found[start : start + block] = np.sqrt(gaps).mean((1, 2))
    return found
