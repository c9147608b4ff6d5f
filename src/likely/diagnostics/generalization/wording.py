"""Scores in sentences."""

import math

import numpy as np

from likely.core.written_numbers import number
from likely.evaluate.scores import Score, mean_score

MAX_DECIMALS = 9
ZERO = 1e-250
"""Below this a number is the rounding of the smallest probability, and shown as 0."""


def shown(score: Score) -> str:
    """A number with its standard error, to two digits of the error."""
    value, error = score
    if not math.isfinite(value):
        return "infinite" if value == math.inf else "unknown"
    if not error > 1e-12 * abs(value):
        return number(value, 4) if abs(value) > ZERO else "0"
    decimals = 1 - math.floor(math.log10(error))
    if not 0 <= decimals <= MAX_DECIMALS:
        return f"{number(value)} ± {number(error, 2)}"
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def mean_of(values: np.ndarray, w: np.ndarray | None = None) -> Score:
    """The mean and its standard error, which is zero where all values are equal."""
    found = mean_score(values, w)
    constant = len(values) > 1 and np.ptp(values) <= 1e-12 * np.abs(values).max()
    return Score(found.value, 0.0) if constant else found


def difference(a: Score, b: Score) -> Score:
    """a − b of two independent scores."""
    return Score(a.value - b.value, float(np.hypot(a.error, b.error)))
