"""The continuous ranked probability score by sums and integrals, where there is no formula."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

Rows = Float[np.ndarray, " n"]
TAILS = np.array([1e-13, 1e-9, 1e-6, 1e-4, 2e-3, 0.02, 0.08, 0.2, 0.35])
LEVELS = np.concatenate([TAILS, [0.5], 1 - TAILS[::-1]])
"""The levels of the quantiles between which the integral is taken."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
MAX_TERMS = 64
"""The most terms of a sum over the counts between two quantiles; beyond, by blocks."""


def crps_of_numbers(dist: Any, y: Rows) -> Rows:
    """The score of any distribution of numbers, by Gauss's rule between its quantiles."""
    y = np.where(np.isnan(y), 0.0, y)
    quantiles = np.asarray(dist.quantile(LEVELS), np.float64).T
    quantiles = np.where(np.isfinite(quantiles), quantiles, y)
    points, score = np.sort(np.vstack([quantiles, y]), axis=0), np.zeros(len(y))
    for low, high in pairwise(points):  # y is an end of cells, never inside one
        half = 0.5 * (high - low)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            F = np.asarray(dist.cdf(low + half * (1 + node)))
            score += weight * half * np.where(high <= y, F, 1 - F) ** 2
    return score


def crps_of_counts(dist: Any, y: Rows) -> Rows:
    """The score of a distribution of counts, by sums over the counts between its quantiles.

    Where there are more than `MAX_TERMS` counts between two of them, a term stands for a
    block of counts around it, with the first correction of Euler and Maclaurin.
    """
    y = np.where(np.isnan(y), 0.0, y)
    middle = np.floor(y)
    at_y = np.asarray(dist.cdf(middle))
    score = (y - middle) * at_y**2 + (middle + 1 - y) * (1 - at_y) ** 2
    quantiles = np.asarray(dist.quantile(LEVELS), np.float64).T
    points = np.sort(np.vstack([quantiles, middle, middle + 1]), axis=0)
    for low, high in pairwise(points):  # the counts k with low ≤ k < high
        below = high <= middle

        def side(k: Rows, below: np.ndarray = below) -> Rows:
            F = np.asarray(dist.cdf(k))
            return np.where(below, F, 1 - F) ** 2

        count = np.where((low == middle) & (high > middle), 0.0, high - low)
        score += _sum(side, low, count)
    return score


def _sum(g: Callable[[Rows], Rows], start: Rows, count: Rows) -> Rows:
    """Σ g(k) over count whole numbers k from start on, by blocks where there are many."""
    stride = np.maximum(np.ceil(count / MAX_TERMS), 1.0)
    stride += (stride + 1) % 2  # odd: a block has a count in its middle
    blocks = np.floor(count / stride)
    total, many = np.zeros(len(count)), stride > 1
    for j in range(int(blocks.max(initial=0.0))):
        middle = start + j * stride + (stride - 1) / 2
        total += np.where(j < blocks, stride * g(middle), 0.0)
    end = start + blocks * stride
    if many.any():
        slope = (g(end - 1) - g(end - 2)) - (g(start + 1) - g(start))
        total += np.where(many & (count > 0), (stride**2 - 1) / 24 * slope, 0.0)
    for j in range(int((count - blocks * stride).max(initial=0.0))):
        total += np.where(end + j < start + count, g(end + j), 0.0)
    return total
