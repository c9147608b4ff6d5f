r"""Tables of quantiles, of many rows at a few levels, by which models are scored and mixed.

The quantile of a mixture has no formula. Here its distribution function is taken to be
linear between the quantiles of the parts at `LEVELS`; that of a mixture of normals is
evaluated at points between its outermost quantiles, and interpolated on the scale of
normal scores. Held-out intervals and those of the saved model come from the same table,
so that the intervals that were conformalised are those that are used.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import gammainc, gammaincinv, gammaln, ndtr, ndtri, softmax

from likely import families
from likely.families.averaged import Averaged
from likely.families.joined import Joined

_TAIL = (0.005, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4)
LEVELS = np.array([*_TAIL, 0.5, *(1 - q for q in reversed(_TAIL))])
MIDDLE = len(_TAIL)
LOW, HIGH = _TAIL.index(0.05), len(LEVELS) - 1 - _TAIL.index(0.05)
"""The ends of the intervals that are stretched to the coverage asked for."""
BLOCK_ENTRIES, POINTS, MIN_TAIL = 4_000_000, 32, 1e-12
"""For mixtures of normals: the size of a block, the points of a row, the least F and 1 − F."""
TWEEDIE_KNOTS, MAX_TWEEDIE_TERMS, MIN_RATE = 48, 96, 1e-3
"""For Tweedie distributions: rows whose quantiles are computed, terms of the sum, least λ."""
MAX_COUNTS, MAX_ENTRIES = 1000, 20_000_000
"""The largest count up to which probabilities are summed, and that times the rows."""
MIN_SPLIT_ROWS, MEAN_RANKS = 2000, (0.97,)
"""The fewest rows that are split by their means, and the rank of the mean where they are split."""


def quantile_table(dist: Any) -> Float[np.ndarray, "n l"]:
    """The quantiles of each row at `LEVELS`."""
    if isinstance(dist, families.Exponentiated):
        return np.exp(np.minimum(quantile_table(dist.base), 700.0))
    if isinstance(dist, families.Hurdled):
        return _hurdled(dist)
    if isinstance(dist, families.Stretched):
        inner = quantile_table(dist.base)
        middle = inner[:, MIDDLE, None]
        return middle + dist.factor * (inner - middle)
    if isinstance(dist, Joined):
        return dist.by_part(quantile_table)
    if isinstance(dist, Averaged):
        tables = dist.of_copies(quantile_table(dist.base))
        return mixed_table([*tables], np.full(dist.copies, 1 / dist.copies))
    if isinstance(dist, families.Mixed):
        return mixed_table([quantile_table(part) for part in dist.parts], dist.weights)
    return _of_family(dist)


def _of_family(dist: families.Predictive) -> np.ndarray:
    """The quantiles of a prediction of one family."""
    family = dist.family
    if isinstance(family, families.Tweedie):
        return _tweedie(dist, float(family.power))
    mixes = isinstance(family, families.Mixture)
    if mixes and isinstance(family.family, families.Normal):
        return _normal_mixture(dist)
    if mixes and isinstance(family.family, families.Gamma):
        return _gamma_mixture(dist)
    if family.discrete:
        return _counts(dist)
    return np.stack([np.asarray(dist.quantile(q), float) for q in LEVELS], axis=1)


def _hurdled(dist: families.Hurdled) -> np.ndarray:
    """Zero up to its probability, then quantiles of the positive part at other levels."""
    inner = quantile_table(dist.base)
    rest = 1 - dist.zero[:, None]
    level = 1 - (1 - LEVELS) / rest  # of the positive part, below 0 where y is zero
    at = np.clip(level, MIN_TAIL, 1 - MIN_TAIL)
    knots = np.broadcast_to(ndtri(LEVELS), inner.shape)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(inner, np.finfo(float).tiny))
    found = np.exp(np.minimum(_extended(knots, logs, ndtri(at)), 700.0))
    return np.where(level > 0, found, 0.0)


def _tweedie(dist: families.Predictive, p: float) -> np.ndarray:
    """Quantiles by those of a few rows in units of γ, which depend on λ alone."""
    theta = dist.theta
    rate = theta["mean"] ** (2 - p) / (theta["dispersion"] * (2 - p))
    unit = theta["dispersion"] * (p - 1) * theta["mean"] ** (p - 1)
    at = np.log(np.maximum(rate, MIN_RATE))
    knots = np.linspace(at.min(), max(at.max(), at.min() + 1e-3), TWEEDIE_KNOTS)
    shape = (2 - p) / (p - 1)
    table = np.stack([_unit_tweedie(rate, shape) for rate in np.exp(knots)])
    columns = [np.interp(at, knots, column) for column in table.T]
    return unit[:, None] * np.stack(columns, axis=1)


def _unit_tweedie(rate: float, shape: float) -> np.ndarray:
    """Quantiles at `LEVELS` of the sum of a Poisson number of gamma values of scale 1."""
    spread = 9 * np.sqrt(rate) + 20
    step = max(1.0, np.ceil(2 * spread / MAX_TWEEDIE_TERMS))
    j = np.arange(max(1.0, np.floor(rate - spread)), rate + spread, step)
    logs = j * np.log(rate) - rate - gammaln(j + 1)
    share = np.exp(logs - logs.max())
    share *= -np.expm1(-rate) / share.sum()
    deviation = np.sqrt(rate * shape * (1 + shape))
    top = rate * shape + 8 * deviation + 20 * max(1.0, shape)
    y = top * np.linspace(0, 1, 400) ** 2
    reached = np.exp(-rate) + gammainc(shape * j, y[:, None]) @ share
    return np.where(np.exp(-rate) >= LEVELS, 0.0, np.interp(LEVELS, reached, y))


def _extended(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Linear interpolation through each row's (x, y), and beyond the ends of x."""
    left = np.zeros(at.shape, np.int64)
    for j in range(1, x.shape[1] - 1):
        left += x[:, j, None] <= at
    rows = np.arange(len(x))[:, None]
    a, b = x[rows, left], x[rows, left + 1]
    share = (at - a) / np.where(b > a, b - a, 1.0)
    return y[rows, left] + share * (y[rows, left + 1] - y[rows, left])


def _counts(dist: families.Predictive) -> np.ndarray:
    """Quantiles of counts; rows with small means apart, for they need few terms."""
    if len(dist) < MIN_SPLIT_ROWS:
        return _alike_counts(dist)
    order = np.argsort(dist.mean, kind="stable")
    found = np.empty((len(dist), len(LEVELS)))
    for rows in np.split(order, [int(share * len(order)) for share in MEAN_RANKS]):
        found[rows] = _alike_counts(families.Predictive(dist.family, dist.eta[rows]))
    return found


def _alike_counts(dist: families.Predictive) -> np.ndarray:
    """Quantiles of counts, interpolated in the step where F reaches the level.

    A quantile lies between y − ½ and y + ½. So two rows with the same whole quantile but
    different means differ, and intervals can have the coverage asked for, as far as whole
    numbers allow it. If counts are small, their probabilities are summed: one pass for
    all levels.
    """
    n = len(dist.mean)
    reached = _cumulative(dist, n, min(MAX_COUNTS, MAX_ENTRIES // max(n, 1)))
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


def _cumulative(dist: families.Predictive, n: int, limit: int) -> np.ndarray | None:
    """F(−1), F(0), F(1), ... until the last level is reached, or None above `limit`."""
    if np.max(dist.mean, initial=0.0) > limit:
        return None
    reached = [np.zeros(n)]
    following = _successive(dist) or (
        np.exp(dist.log_prob(np.full(n, float(y)))) for y in itertools.count()
    )
    while (reached[-1] < LEVELS[-1]).any():
        if len(reached) > limit:
            return None
        reached.append(reached[-1] + next(following))
    return np.stack(reached, axis=1)


def _successive(dist: families.Predictive) -> Iterator[np.ndarray] | None:
    r"""p(0), p(1), ... of each row of negative binomials, or of mixtures of them.

    $p(y + 1) = p(y) \frac{y + r}{y + 1} \frac{μ}{r + μ}$, on the scale of logarithms.
    """
    family = dist.family
    mixes = isinstance(family, families.Mixture)
    part = family.family if mixes else family
    if type(part) is not families.NegativeBinomial:
        return None
    theta = dist.theta
    mean = theta["mean"] if mixes else theta["mean"][:, None]
    r = np.broadcast_to(theta["concentration"].reshape(len(mean), -1), mean.shape)
    share = softmax(theta["mixture_logits"], axis=1) if mixes else np.ones((1, 1))
    return _binomial_terms(mean, r, share)


def _binomial_terms(mean, r, share) -> Iterator[np.ndarray]:
    log_p, log_odds = -r * np.log1p(mean / r), -np.log1p(r / mean)
    for y in itertools.count():
        yield (share * np.exp(log_p)).sum(1)
        log_p = log_p + np.log((y + r) / (y + 1)) + log_odds


def inner_ends(
    table: Float[np.ndarray, "n l"], stretch: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Lower end, median and upper end of the inner intervals, stretched by a factor."""
    m = table[:, MIDDLE]
    return m + stretch * (table[:, LOW] - m), m, m + stretch * (table[:, HIGH] - m)


def _normal_mixture(dist: families.Predictive) -> np.ndarray:
    """Quantiles of mixtures of normals, in blocks of rows, so that memory stays small."""
    loc = dist.theta["loc"]
    scale = np.broadcast_to(dist.theta["scale"], loc.shape)
    ends = loc[..., None] + scale[..., None] * ndtri(LEVELS[[0, -1]])
    parts = (loc, scale, softmax(dist.theta["mixture_logits"], axis=1), ends)
    return _blocks(lambda y, loc, scale: ndtr((y - loc) / scale), *parts)


def _gamma_mixture(dist: families.Predictive) -> np.ndarray:
    """Quantiles of mixtures of gamma distributions, on the scale of logarithms."""
    rate = dist.theta["rate"]
    shape = np.broadcast_to(dist.theta["concentration"], rate.shape)
    ends = gammaincinv(shape[..., None], LEVELS[[0, -1]]) / rate[..., None]
    ends = np.log(np.maximum(ends, np.finfo(float).tiny))
    parts = (shape, rate, softmax(dist.theta["mixture_logits"], axis=1), ends)
    return np.exp(_blocks(lambda z, a, b: gammainc(a, b * np.exp(z)), *parts))


def _blocks(
    cdf: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    first: Float[np.ndarray, "n m"],
    second: Float[np.ndarray, "n m"],
    share: Float[np.ndarray, "n m"],
    ends: Float[np.ndarray, "n m 2"],
) -> Float[np.ndarray, "n l"]:
    """Quantiles of mixtures whose components have a cdf of y and two parameters."""
    size = max(1, BLOCK_ENTRIES // (POINTS * first.shape[1]))
    low, high = ends[..., 0].min(1), ends[..., 1].max(1)
    found = []
    for k in range(0, len(first), size):
        rows = slice(k, k + size)
        a, b, weights = first[rows], second[rows], share[rows]

        def reached(y: np.ndarray, a=a, b=b, weights=weights) -> np.ndarray:
            return np.einsum("nm,nm->n", weights, cdf(y[:, None], a, b))

        found.append(_one_block(reached, low[rows], high[rows]))
    return np.concatenate(found)


def _one_block(
    cdf: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Quantiles from F at evenly spaced points, and again near the quantiles so found."""

    def scores(points: np.ndarray) -> np.ndarray:
        reached = np.stack([cdf(column) for column in points.T], axis=1)
        return ndtri(np.clip(reached, MIN_TAIL, 1 - MIN_TAIL))

    points = low[:, None] + np.linspace(0, 1, POINTS) * (high - low)[:, None]
    z = np.maximum.accumulate(scores(points), axis=1)
    near = _interpolated(z, points, ndtri(LEVELS))
    points, z = np.c_[points, near], np.c_[z, scores(near)]
    order = np.argsort(points, axis=1, kind="stable")
    points = np.take_along_axis(points, order, 1)
    z = np.maximum.accumulate(np.take_along_axis(z, order, 1), axis=1)
    return _interpolated(z, points, ndtri(LEVELS))


def _interpolated(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Linear interpolation through each row's (x, y), at the same points for all rows."""
    index = np.stack([(x <= a).sum(1) for a in at], axis=1)
    left = np.clip(index - 1, 0, x.shape[1] - 2)
    rows = np.arange(len(x))[:, None]
    a, b = x[rows, left], x[rows, left + 1]
    share = np.clip((at[None] - a) / np.where(b > a, b - a, 1.0), 0.0, 1.0)
    return y[rows, left] + share * (y[rows, left + 1] - y[rows, left])


def mixed_table(
    tables: Sequence[Float[np.ndarray, "n l"]], weights: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "n l"]:
    """Quantiles of the mixture of piecewise linear distribution functions."""
    used = [(t, w) for t, w in zip(tables, weights, strict=True) if w > 0]
    if len(used) == 1:
        return used[0][0]
    # the knots of all parts; between two neighbours every part is linear
    knots = np.sort(np.concatenate([t for t, _ in used], axis=1), axis=1)
    reached = np.zeros_like(knots)
    for table, weight in used:
        reached += weight * _cdf(table, knots)
    return _interpolated(np.maximum.accumulate(reached, 1), knots, LEVELS)


def _cdf(table: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The piecewise linear distribution function of each row at some points."""
    index = np.zeros(y.shape, np.int64)
    for j in range(table.shape[1]):
        index += table[:, j, None] <= y
    left, right = np.maximum(index - 1, 0), np.minimum(index, len(LEVELS) - 1)
    rows = np.arange(len(table))[:, None]
    a, b = table[rows, left], table[rows, right]
    share = np.where(b > a, (y - a) / np.where(b > a, b - a, 1.0), 1.0)
    inside = LEVELS[left] + np.clip(share, 0, 1) * (LEVELS[right] - LEVELS[left])
    return np.where(index == 0, 0.0, np.where(index == len(LEVELS), 1.0, inside))
