"""The kind of each column of numbers: the one under which its numbers are most probable."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import nbinom, poisson

from likely.families import NegativeBinomial
from likely.families.negative_binomial_slopes import marginal_on_host
from likely.preprocess.codec.positive import Scale, best_scale, scale_by

MAX_FEW_LEVELS = 10
"""Different numbers, or whole numbers of a range, up to which they are levels."""
MIN_ROWS_PER_LEVEL = 5
WIDE = 100.0
"""Standard deviations, in steps of whole numbers, from which a density is as good."""
MAX_COUNT = 10_000
"""The largest number that is seen as a count of something."""


UNSCALED = Scale(None, 0.0, 1.0, 0.0)


class Choice(NamedTuple):
    """The kind of a column, and the scale of its numbers."""

    kind: str
    scale: Scale
    levels: tuple[str, ...] = ()


def number_choice(x: np.ndarray, w: np.ndarray, *, counts: bool = True) -> Choice:
    """The kind of a column, from its numbers that are not missing.

    Args:
        x: (n,) numbers, not all equal.
        w: (n,) their weights.
        counts: whether there is a kind for counts.
    """
    whole = bool((x == np.round(x)).all())
    if not whole:
        found = np.unique(x)
        few = len(found) <= MAX_FEW_LEVELS
        if few and w.sum() >= MIN_ROWS_PER_LEVEL * len(found):
            return Choice("category", UNSCALED, tuple(map(repr, found.tolist())))
        return continuous_choice(x, w)
    low, high = x.min(), x.max()
    levels = int(high - low) + 1 if high - low < MAX_FEW_LEVELS else 0
    if levels and w.sum() >= MIN_ROWS_PER_LEVEL * levels:
        return few_levels(low, high)
    found = [(rounded_gain(x, w), Choice("whole", scale_by(x, w, None)))]
    if counts and low >= 0 and high <= MAX_COUNT:
        found.append((count_gain(x, w), Choice("count", count_scale(x, w))))
    plain = scale_by(x, w, None)
    if plain.scale > WIDE and low > 0:
        wide = continuous_choice(x, w)
        found.append((wide.scale.gain, wide))
    return max(found, key=lambda pair: pair[0])[1]


def continuous_choice(x: np.ndarray, w: np.ndarray) -> Choice:
    """Numbers with a density."""
    scale = best_scale(x, w)
    return Choice("number" if scale.softness is None else "positive", scale)


def few_levels(low: float, high: float) -> Choice:
    """A category of all whole numbers of a range."""
    levels = tuple(f"{k:.0f}" for k in np.arange(low, high + 1))
    return Choice("category", UNSCALED, levels)


def count_scale(x: np.ndarray, w: np.ndarray) -> Scale:
    """Mean and deviation of log(1 + x), in which networks see counts."""
    return scale_by(np.log1p(x), w, None)


def rounded_gain(x: np.ndarray, w: np.ndarray) -> float:
    """The mean log probability of whole numbers that are rounded normal ones."""
    center = np.average(x, weights=w)
    scale = max(np.sqrt(np.average((x - center) ** 2, weights=w)), 0.2)
    z, half = np.abs(x - center) / scale, 0.5 / scale
    upper, lower = log_ndtr(half - z), log_ndtr(-half - z)
    return float(np.average(upper + np.log(-np.expm1(lower - upper)), weights=w))


def count_gain(x: np.ndarray, w: np.ndarray) -> float:
    """The mean log probability of counts that are negative binomial, or Poisson."""
    found = marginal_on_host(NegativeBinomial(), x, w)
    if found is None:
        log_p = poisson.logpmf(x, np.average(x, weights=w))
    else:
        mean, r = np.exp(found)
        log_p = nbinom.logpmf(x, r, r / (r + mean))
    return float(np.average(log_p, weights=w))
