r"""Quantiles of many rows at a few levels, fast: the table by which models are judged and mixed.

The quantile of a mixture has no formula. Here its distribution function is taken to be
straight between the quantiles of the parts at `LEVELS`; a mixture of normals is asked at
points between its outermost quantiles, and interpolated on the scale of normal scores.
Held-out intervals and those of the saved model are read off the same table, so that
what was conformalised is what is used.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri, softmax

from likely.families import (
    Exponentiated,
    Mixed,
    Mixture,
    Normal,
    Predictive,
    Stretched,
)

_TAIL = (0.005, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4)
LEVELS = np.array([*_TAIL, 0.5, *(1 - q for q in reversed(_TAIL))])
MIDDLE = len(_TAIL)
INNER = 0.9
"""Coverage of the intervals that are stretched until they cover as asked."""
LOW, HIGH = _TAIL.index(0.05), len(LEVELS) - 1 - _TAIL.index(0.05)
BLOCK, POINTS, CLOSEST = 4_000_000, 32, 1e-12
MOST_COUNTS, MOST_ENTRIES = 1000, 20_000_000
"""How many counts have their probabilities added up, and how many times the rows."""


def quantile_table(dist: Any) -> Float[np.ndarray, "n l"]:
    """The quantiles of each row at `LEVELS`."""
    if isinstance(dist, Exponentiated):
        return np.exp(np.minimum(quantile_table(dist.base), 700.0))
    if isinstance(dist, Stretched):
        inner = quantile_table(dist.base)
        middle = inner[:, MIDDLE, None]
        return middle + dist.factor * (inner - middle)
    if isinstance(dist, Mixed):
        return mixed_table([quantile_table(part) for part in dist.parts], dist.weights)
    family = dist.family
    if isinstance(family, Mixture) and isinstance(family.family, Normal):
        return _normal_mixture(dist)
    if family.discrete:
        return _counts(dist)
    return np.stack([np.asarray(dist.quantile(q), float) for q in LEVELS], axis=1)


def _counts(dist: Predictive) -> np.ndarray:
    """Where in the step of a count the level is reached: between y − ½ and y + ½.

    So two rows with the same whole quantile but other means differ, and intervals can
    be made to cover as asked, as far as whole numbers can be covered. Where counts are
    small, the probabilities of all of them are added up: one pass for all levels.
    """
    n = len(dist.mean)
    reached = _sums(dist, n, min(MOST_COUNTS, MOST_ENTRIES // max(n, 1)))
    found, rows = np.empty((n, len(LEVELS))), np.arange(n)
    for j, level in enumerate(LEVELS):
        if reached is not None:
            y = (reached[:, 1:] < level).sum(1)
            below, above = reached[rows, y], reached[rows, y + 1]
        else:
            y = np.asarray(dist.quantile(level), float)
            above = np.asarray(dist.cdf(y), float)
            below = np.where(y > 0, dist.cdf(np.maximum(y - 1, 0)), 0.0)
        step = np.maximum(above - below, 1e-12)
        found[:, j] = y - 0.5 + np.clip((level - below) / step, 0.0, 1.0)
    return found


def _sums(dist: Predictive, n: int, most: int) -> np.ndarray | None:
    """F(−1), F(0), F(1), ... until the last level is reached, or None above `most`."""
    if np.max(dist.mean, initial=0.0) > most:
        return None
    reached = [np.zeros(n)]
    while (reached[-1] < LEVELS[-1]).any():
        if len(reached) > most:
            return None
        p = np.exp(dist.log_prob(np.full(n, len(reached) - 1.0)))
        reached.append(reached[-1] + p)
    return np.stack(reached, axis=1)


def inner_ends(
    table: Float[np.ndarray, "n l"], stretch: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Lower end, median and upper end of the inner intervals, times a factor."""
    m = table[:, MIDDLE]
    return m + stretch * (table[:, LOW] - m), m, m + stretch * (table[:, HIGH] - m)


def _normal_mixture(dist: Predictive) -> np.ndarray:
    """In blocks of rows, so that memory stays small."""
    theta = dist.theta
    scale = np.broadcast_to(theta["scale"], theta["loc"].shape)
    share = softmax(theta["mixture_logits"], axis=1)
    size = max(1, BLOCK // (POINTS * scale.shape[1]))
    parts = [
        _one_block(theta["loc"][k : k + size], scale[k : k + size], share[k : k + size])
        for k in range(0, len(scale), size)
    ]
    return np.concatenate(parts)


def _one_block(loc: np.ndarray, scale: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Asked at even points, and again where the levels seem to be."""

    def scores(points: np.ndarray) -> np.ndarray:
        reached = np.empty_like(points)
        for j in range(points.shape[1]):
            z = (points[:, j, None] - loc) / scale
            reached[:, j] = np.einsum("nm,nm->n", share, ndtr(z))
        return ndtri(np.clip(reached, CLOSEST, 1 - CLOSEST))

    ends = loc[..., None] + scale[..., None] * ndtri(LEVELS[[0, -1]])
    low, high = ends[..., 0].min(1), ends[..., 1].max(1)
    points = low[:, None] + np.linspace(0, 1, POINTS) * (high - low)[:, None]
    said = np.maximum.accumulate(scores(points), axis=1)
    near = _interpolated(said, points, ndtri(LEVELS))
    points, said = np.c_[points, near], np.c_[said, scores(near)]
    order = np.argsort(points, axis=1, kind="stable")
    points = np.take_along_axis(points, order, 1)
    said = np.maximum.accumulate(np.take_along_axis(said, order, 1), axis=1)
    return _interpolated(said, points, ndtri(LEVELS))


def _interpolated(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Each row's straight lines through (x, y), at the same points for all rows."""
    place = np.stack([(x <= a).sum(1) for a in at], axis=1)
    left = np.clip(place - 1, 0, x.shape[1] - 2)
    rows = np.arange(len(x))[:, None]
    a, b = x[rows, left], x[rows, left + 1]
    share = np.clip((at[None] - a) / np.where(b > a, b - a, 1.0), 0.0, 1.0)
    return y[rows, left] + share * (y[rows, left + 1] - y[rows, left])


def mixed_table(
    tables: Sequence[Float[np.ndarray, "n l"]], weights: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "n l"]:
    """Where the weighted mean of straight-lined distribution functions is each level."""
    used = [(t, w) for t, w in zip(tables, weights, strict=True) if w > 0]
    if len(used) == 1:
        return used[0][0]
    # All corners of all parts; between two neighbours every part is straight.
    corners = np.sort(np.concatenate([t for t, _ in used], axis=1), axis=1)
    reached = np.zeros_like(corners)
    for table, weight in used:
        reached += weight * _cdf(table, corners)
    return _interpolated(np.maximum.accumulate(reached, 1), corners, LEVELS)


def _cdf(table: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The straight-lined distribution function of each row at some points."""
    place = np.zeros(y.shape, np.int64)
    for j in range(table.shape[1]):
        place += table[:, j, None] <= y
    left, right = np.maximum(place - 1, 0), np.minimum(place, len(LEVELS) - 1)
    rows = np.arange(len(table))[:, None]
    a, b = table[rows, left], table[rows, right]
    share = np.where(b > a, (y - a) / np.where(b > a, b - a, 1.0), 1.0)
    inside = LEVELS[left] + np.clip(share, 0, 1) * (LEVELS[right] - LEVELS[left])
    return np.where(place == 0, 0.0, np.where(place == len(LEVELS), 1.0, inside))
