r"""Transforms of positive numbers to the whole real line, with their slopes.

    softness None   t(x) = x                           for any number
    softness 0      t(x) = log x
    softness s > 0  t(x) = log(e^(x/s) − 1)            log(x/s) below s, x/s above

The inverse of the last is $s\log(1 + e^t)$: whatever a model says about t, x is above 0.
"""

from typing import NamedTuple

import numpy as np

SOFT_SHARES = (1.0, 0.1)
"""Softnesses that are tried, in units of the median."""
FAR_FROM_ZERO = 5.0
"""Standard deviations above 0 from which a mean does not need a transform."""
LOG_GAIN = 0.02
"""Nats per row that a logarithm has to gain there."""
MAX_SIZE = np.log(np.finfo(np.float64).max) - 1


class Scale(NamedTuple):
    """How the numbers of a column are scaled: v = (t(x) − center)/scale."""

    softness: float | None
    center: float
    scale: float
    gain: float
    """Mean log density of the numbers under N(center, scale²) for t(x), in nats."""


def forward(x: np.ndarray, softness: float | None) -> np.ndarray:
    """t(x)."""
    if softness is None:
        return x
    if softness == 0:
        return np.log(x)
    y = x / softness
    return y + np.log(-np.expm1(-y))


def backward(t: np.ndarray, softness: float | None) -> np.ndarray:
    """x, from t(x); the largest number there is in the place of infinity."""
    if softness is None:
        return t
    if softness == 0:
        return np.exp(np.minimum(t, MAX_SIZE))
    with np.errstate(invalid="ignore"):  # a missing cell stays one
        return softness * np.logaddexp(0.0, t)


def log_slope(x: np.ndarray, softness: float | None) -> np.ndarray:
    """log |dt/dx|."""
    if softness is None:
        return np.zeros_like(x)
    if softness == 0:
        return -np.log(x)
    return -np.log(softness) - np.log(-np.expm1(-x / softness))


def scale_by(x: np.ndarray, w: np.ndarray, softness: float | None) -> Scale:
    """The mean and deviation of t(x), and how probable they make the numbers.

    Args:
        x: (n,) numbers that are not all equal.
        w: (n,) their weights.
        softness: which transform.
    """
    t = forward(x, softness)
    center = float(np.average(t, weights=w))
    scale = float(np.sqrt(np.average((t - center) ** 2, weights=w)))
    slope = float(np.average(log_slope(x, softness), weights=w))
    gain = slope - np.log(scale) - 0.5 * np.log(2 * np.pi * np.e)
    return Scale(softness, center, scale, float(gain))


def best_scale(x: np.ndarray, w: np.ndarray) -> Scale:
    """The transform under which the numbers are most probable.

    Numbers of both signs, and zeros, are only shifted and stretched. Positive ones are
    transformed, so that draws are positive too, unless they are so far from 0 that it
    makes no difference.
    """
    plain = scale_by(x, w, None)
    if x.min() <= 0:
        return plain
    middle = _median(x, w)
    options = [scale_by(x, w, s) for s in (0.0, *(c * middle for c in SOFT_SHARES))]
    options = [s for s in options if np.isfinite(s.gain)]
    if not options:
        return plain
    best = max(options, key=lambda s: s.gain)
    near = plain.center < FAR_FROM_ZERO * plain.scale
    return best if near or best.gain > plain.gain + LOG_GAIN else plain


def positive_scale(x: np.ndarray, w: np.ndarray) -> Scale:
    """The best transform of numbers that are known to be positive."""
    middle = _median(x, w)
    options = [scale_by(x, w, s) for s in (0.0, *(c * middle for c in SOFT_SHARES))]
    return max(options, key=lambda s: s.gain)


def _median(x: np.ndarray, w: np.ndarray) -> float:
    """The median by weight: the same for a row of weight 2 as for the row twice."""
    order = np.argsort(x)
    below = np.cumsum(w[order])
    half = 0.5 * below[-1]
    low, high = (np.searchsorted(below, half, side=s) for s in ("left", "right"))
    return float(0.5 * (x[order[low]] + x[order[min(high, len(x) - 1)]]))
