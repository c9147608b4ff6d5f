r"""Correlation, and regression to the mean.

$$ρ = \frac{\mathrm{Cov}(X, Y)}{s_X s_Y} \in [-1, 1], \qquad
  E[Y \mid X = x] - \bar y = ρ\,\frac{s_Y}{s_X}\,(x - \bar x)$$

for the best line. Only where both are *standardised* is the slope ρ itself: then whoever
is a standard deviations above the mean in X is expected ρa above it in Y, nearer to the mean
unless |ρ| = 1.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from likely.core.checks import InputError, check_finite, check_weights


class Correlation(NamedTuple):
    """Pearson's ρ with its test and interval, and the slope of the regression line."""

    rho: float
    p_value: float
    """The p-value of no linear relation, by Student's t with Σw − 2 degrees of freedom."""
    interval: tuple[float, float]
    """The 95 % interval of ρ, by Fisher's transformation."""
    slope: float
    """The slope ρ s_Y / s_X of the line of Y on X."""

    def expected(self, standardised: float) -> float:
        """The expected number of standard deviations of Y above its mean, given that of X."""
        return self.rho * standardised


def correlation(x: Any, y: Any, sample_weight: Any = None) -> Correlation:
    """Pearson's correlation of two columns.

    Args:
        x: (n,) numbers.
        y: (n,) numbers.
        sample_weight: how often each row counts.

    Examples:
        >>> found = lk.correlation(np.arange(5.0), np.array([0.0, 1.0, 2.0, 3.0, 5.0]))
        >>> round(found.rho, 3)
        0.986
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(f"x has shape {x.shape} and y {y.shape}; give (n,) for both.")
    w = check_weights(sample_weight, len(x))
    for name, values in (("x", x), ("y", y)):
        check_finite(name, values, w)
    x, y, w = x[w > 0], y[w > 0], w[w > 0]
    n = w.sum()
    dx, dy = x - w @ x / n, y - w @ y / n
    sx, sy = np.sqrt(w @ dx**2), np.sqrt(w @ dy**2)
    if not (sx > 0 and sy > 0 and n > 2):
        raise InputError("correlation needs three rows, and columns that vary.")
    rho = float(np.clip((w * dx) @ dy / (sx * sy), -1, 1))
    slack = max(1 - rho**2, np.finfo(float).tiny)
    t = rho * np.sqrt((n - 2) / slack)
    half = stats.norm.ppf(0.975) / np.sqrt(n - 3) if n > 3 else np.inf
    centre = np.arctanh(np.clip(rho, -1 + 1e-16, 1 - 1e-16))
    ends = float(np.tanh(centre - half)), float(np.tanh(centre + half))
    p = float(2 * stats.t.sf(abs(t), n - 2))
    return Correlation(rho, p, ends, rho * float(sy / sx))
