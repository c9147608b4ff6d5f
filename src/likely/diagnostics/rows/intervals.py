r"""Intervals of shares and means in groups of rows, and of their differences.

Shares have Wilson's interval, differences of shares the one that Newcombe makes of two of
these: with the ends $l_a < p_a < u_a$ and $l_b < p_b < u_b$,

$$p_a - p_b - \sqrt{(p_a - l_a)^2 + (u_b - p_b)^2} \quad\text{to}\quad
  p_a - p_b + \sqrt{(u_a - p_a)^2 + (p_b - l_b)^2},$$

which holds its coverage also where a share is 0 or 1 and rows are few. Means have Welch's t.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

MIN_EFFECTIVE = 2.0
"""The least weight of a group that has an error."""


class Part(NamedTuple):
    """The mean of a quantity over some rows."""

    value: float
    error: float
    total: float
    """The weight of the rows."""
    is_share: bool


class Gap(NamedTuple):
    """The difference of two means, and its interval."""

    value: float
    error: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Whether the interval does not hold zero."""
        return self.low > 0 or self.high < 0


def part_of(values: np.ndarray, w: np.ndarray) -> Part:
    """The mean over the rows that have weight, and its standard error."""
    here = w > 0
    values, w = np.asarray(values, np.float64)[here], w[here]
    total = float(w.sum())
    if not total > 0:
        return Part(float("nan"), float("nan"), 0.0, False)
    share = bool(np.isin(values, (0.0, 1.0)).all())
    mean = float(w @ values / total)
    if total < MIN_EFFECTIVE or not np.isfinite(mean):
        return Part(mean, float("nan"), total, share)
    if share:  # of Agresti and Coull: above 0 also where the share is 0 or 1
        near = (mean * total + 2) / (total + 4)
        return Part(mean, float(np.sqrt(near * (1 - near) / (total + 4))), total, True)
    variance = float(w @ (values - mean) ** 2) / (total - 1)
    return Part(mean, float(np.sqrt(variance / total)), total, False)


def gap_of(a: Part, b: Part, level: float) -> Gap:
    """The difference a − b with an interval that misses the truth with this probability."""
    value = a.value - b.value
    error = float(np.hypot(a.error, b.error))
    if not (np.isfinite(error) and np.isfinite(value)):
        return Gap(value, float("nan"), -np.inf, np.inf)
    if a.is_share and b.is_share:
        (la, ua), (lb, ub) = wilson(a, level), wilson(b, level)
        low = value - float(np.hypot(a.value - la, ub - b.value))
        high = value + float(np.hypot(ua - a.value, b.value - lb))
        return Gap(value, error, low, high)
    parts = np.array([a.error**2, b.error**2])
    df = float(parts.sum() ** 2 / (parts**2 / ([a.total - 1, b.total - 1])).sum()) \
        if parts.sum() > 0 else 1.0  # fmt: skip
    half = float(stats.t.ppf(1 - level / 2, df)) * error
    return Gap(value, error, value - half, value + half)


def wilson(part: Part, level: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    z, n, p = float(stats.norm.ppf(1 - level / 2)), part.total, part.value
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return middle - float(half), middle + float(half)
