r"""Expectations $E_p[g(Y)]$ under predictive distributions, each with its error.

Classes and counts are summed. Densities are integrated by Gauss and Kronrod's rule over
segments between quantiles; those with the largest errors are halved until the rest is rounding.
Where one observation is a vector, and where there are too many counts, draws are averaged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likely.information.estimate import Estimate

Integrand = Callable[[Int[np.ndarray, " m"], np.ndarray], Float[np.ndarray, " m"]]
"""g(rows, y): the integrand at one y for each of the named rows."""
MAX_COUNTS = 20_000
"""Counts of one row that are summed one by one; beyond, draws are averaged."""
DRAWS = 20_000
DRAWS_PER_CALL = 2_000
TAIL = 1e-15
LEVELS = np.concatenate([10.0 ** np.arange(-15, -1), [0.05, 0.15, 0.3]])
OUTER_LENGTHS = 4.0 ** np.arange(20) - 0.5
"""Where segments beyond the outermost quantiles end, in ranges of the quantiles."""
LOWEST_LOG = -745.0
"""Below this log-density the density is 0 in float64."""
BLOCK = 2048
"""How many densities are asked for at once: one size, so that one program is compiled."""
MAX_HALVINGS = 40
TOLERANCE = 1e-12


def expectation(
    p: Any, g: Integrand, *, random_state: Any = 0, also: Any = None
) -> Estimate:
    """E[g(Y)] for each row of a distribution.

    Args:
        p: a predictive distribution.
        g: the integrand, called with row numbers and one y for each.
        random_state: of the draws, where there are any.
        also: another distribution, whose bulk gets segments too.
    """
    family = getattr(p, "family", None)
    if getattr(family, "multivariate", False):
        return _average(p, g, random_state)
    if hasattr(p, "probs"):
        return _sum_classes(p, g)
    if p.discrete:
        last = np.asarray(p.quantile(1 - 1e-16), float)
        if not np.isfinite(last).all() or last.max() > MAX_COUNTS:
            return _average(p, g, random_state)
        return _sum_counts(p, g, int(2 * last.max()) + 60)
    return _integrate(p, g, also)


def log_prob_at(p: Any, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log p(y) of the rows with these numbers, in blocks of one size."""
    found = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        own, at = rows[part], y[part]
        short = BLOCK - len(own)
        if short:
            own = np.r_[own, np.repeat(own[-1:], short)]
            at = np.concatenate([at, np.repeat(at[-1:], short, axis=0)])
        found[part] = p[own].log_prob(at)[: BLOCK - short]
    return found


def weighted(p: Any, g: Integrand, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """p(y) g(y), which is 0 where p is, whatever g."""
    density = np.exp(log_prob_at(p, rows, y))
    used = density > 0
    with np.errstate(invalid="ignore"):
        return np.where(used, density * np.where(used, g(rows, y), 0.0), 0.0)


def _sum_classes(p: Any, g: Integrand) -> Estimate:
    probs = np.asarray(p.probs)
    n, c = probs.shape
    labels = np.arange(c) if p.classes is None else p.classes
    terms = weighted(p, g, np.repeat(np.arange(n), c), np.tile(labels, n))
    return Estimate(terms.reshape(n, c).sum(1), np.zeros(n), "a sum over the classes")


def _sum_counts(p: Any, g: Integrand, last: int) -> Estimate:
    n, y = len(p), np.arange(last + 1.0)
    terms = weighted(p, g, np.repeat(np.arange(n), len(y)), np.tile(y, n))
    terms = terms.reshape(n, len(y))
    value = terms.sum(1)
    error = np.where(np.isfinite(value), np.abs(terms[:, -1]) * len(y), 0.0)
    return Estimate(value, error, "a sum over the counts")


def _average(p: Any, g: Integrand, random_state: Any) -> Estimate:
    """The mean over draws, with its standard error."""
    n = len(p)
    y = p.sample(DRAWS, random_state=random_state)
    parts = []
    for start in range(0, DRAWS, DRAWS_PER_CALL):
        part = y[start : start + DRAWS_PER_CALL]
        rows = np.tile(np.arange(n), len(part))
        parts.append(g(rows, part.reshape(-1, *part.shape[2:])).reshape(-1, n))
    values = np.concatenate(parts)
    with np.errstate(invalid="ignore"):
        error = values.std(0, ddof=1) / np.sqrt(DRAWS)
    return Estimate(values.mean(0), error, f"the mean over {DRAWS:,} draws")


# Quadrature ---------------------------------------------------------------------------

_XGK = [0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845]
_XGK += [0.7808177265864169, 0.6794095682990244, 0.5627571346686047, 0.4333953941292472]
_XGK += [0.2943928627014602, 0.1488743389816312]
_WGK = [
    0.01169463886737187,
    0.03255816230796473,
    0.05475589657435200,
    0.07503967481091995,
]
_WGK += [
    0.09312545458369761,
    0.1093871588022976,
    0.1234919762620659,
    0.1347092173114733,
]
_WGK += [0.1427759385770601, 0.1477391049013385]
_WG = [0.06667134430868814, 0.1494513491505806, 0.2190863625159820, 0.2692667193099964]
_WG += [0.2955242247147529]
NODES = np.array([-x for x in _XGK] + [0.0] + _XGK[::-1])
KRONROD = np.array([*_WGK, 0.1494455540029169, *_WGK[::-1]])
GAUSS = np.zeros(21)
GAUSS[1::2] = [*_WG, *_WG[::-1]]


def _integrate(p: Any, g: Integrand, also: Any) -> Estimate:
    """Halve the segments with the largest errors, of all rows together."""
    n = len(p)
    value, error = _atoms(p, g)
    rows, low, high = _segments(p, also)
    last = np.zeros(n)
    for halving in range(MAX_HALVINGS):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        y = (middle[:, None] + half[:, None] * NODES).ravel()
        terms = weighted(p, g, np.repeat(rows, len(NODES)), y).reshape(-1, len(NODES))
        with np.errstate(over="ignore", invalid="ignore"):
            fine, coarse = half * (terms @ KRONROD), half * (terms @ GAUSS)
            gap = np.abs(fine - coarse)
        scale = 1 + np.bincount(rows, np.abs(fine), n)
        again = (gap > TOLERANCE * scale[rows]) & (half > 1e-13 * np.abs(middle))
        if halving == MAX_HALVINGS - 1 or not np.isfinite(fine).all():
            again[:] = False
        done = ~again
        value += np.bincount(rows[done], fine[done], n)
        error += np.bincount(rows[done], gap[done], n)
        if halving == 0:  # what the outermost segments hold should be nothing
            ends = np.zeros(len(rows), bool)
            ends[_ends(rows)] = True
            last = np.bincount(rows[ends], np.abs(fine[ends]), n)
        rows, low, middle, high = rows[again], low[again], middle[again], high[again]
        if not rows.size:
            break
        rows, low, high = np.r_[rows, rows], np.r_[low, middle], np.r_[middle, high]
    diverges = ~(last < 1e-6 * (1 + np.abs(value)))
    value = np.where(diverges | np.isnan(value), np.inf, value)
    error = np.where(diverges, np.inf, error + last)
    words = "; the integral does not converge" if diverges.any() else ""
    return Estimate(value, error, f"quadrature{words}")


def _ends(rows: np.ndarray) -> np.ndarray:
    """The first and the last segment of each row, as `_segments` orders them."""
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    return np.r_[starts, np.r_[starts[1:], len(rows)] - 1]


def _atoms(p: Any, g: Integrand) -> tuple[np.ndarray, np.ndarray]:
    """What the probability of exactly 0 adds, where a family has one."""
    n = len(p)
    if not getattr(getattr(p, "family", None), "zeros", False):
        return np.zeros(n), np.zeros(n)
    return weighted(p, g, np.arange(n), np.zeros(n)), np.zeros(n)


def _segments(p: Any, also: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers and ends of segments: between quantiles, then of doubling lengths.

    Where 0 has a probability, quantiles are of the part above it.
    """
    zeros = getattr(getattr(p, "family", None), "zeros", False)
    levels = np.concatenate([LEVELS, [0.5], 1 - LEVELS[::-1]])
    cuts = []
    for dist in (p,) if also is None else (p, also):
        atom = np.exp(dist.log_prob(np.zeros(len(p)))) if zeros else np.zeros(len(p))
        asked = np.minimum(atom[:, None] + (1 - atom[:, None]) * levels, 1 - TAIL)
        cuts.append(np.asarray(dist.quantile(asked), float))
    ends = [np.unique(own[np.isfinite(own)]) for own in np.concatenate(cuts, axis=1)]
    points = [own[own > 0] if zeros else own for own in ends]
    low, high = (np.array([own[side] for own in points]) for side in (0, -1))
    reach = high - low + 1e-300
    far = [
        log_prob_at(p, np.arange(len(p)), end) > LOWEST_LOG
        for end in (low - reach, high + reach)
    ]
    points = [_extended(*parts) for parts in zip(points, reach, *far, strict=True)]
    rows = np.repeat(np.arange(len(p)), [len(own) - 1 for own in points])
    lows, highs = [own[:-1] for own in points], [own[1:] for own in points]
    return rows, np.concatenate(lows), np.concatenate(highs)


def _extended(
    points: np.ndarray, reach: Any, far_below: Any, far_above: Any
) -> np.ndarray:
    """The points, and others on both sides at growing distances.

    Where the density is nothing at the first of them there are no more. From positive
    points on there are shrinking steps towards 0: nothing may lie below.
    """
    above = points[-1] + reach * OUTER_LENGTHS[: None if far_above else 1]
    below = points[0] - reach * OUTER_LENGTHS[: None if far_below else 1]
    if points[0] > 0:
        near = points[0] * 0.25 ** np.arange(1, 20.0)
        below = np.r_[below[below < 0], 0.0, near]
    return np.unique(np.r_[below, points, above])
