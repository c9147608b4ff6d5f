"""A rule for expectations of a family: points, weights, and log-densities at them.

Numbers with a density are integrated between quantiles by Gauss's rule, on panels that are halved
until their masses are those of the cdf, and beyond the outer quantiles by the double-exponential
rule, which reaches 10²⁰ times as far. Counts are summed.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

LEVELS = np.array(
    [1e-6, 1e-3, 0.01, 0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95, 0.99]
    + [1 - 1e-3, 1 - 1e-6]
)
N_NODES, N_TAIL, TAIL_REACH = 16, 97, 4.2
MAX_MASS_ERROR, MAX_HALVINGS, MAX_PANELS = 1e-11, 24, 300
"""Panels are halved while their mass is off by this, so often, and up to so many."""


class Rule(NamedTuple):
    """E[g(Y)] is Σ exp(log_weight) g(y)."""

    y: np.ndarray
    log_weight: np.ndarray


def density_rule(law: Any, mode: float, *, zero: bool) -> Rule:
    """The rule of a law with a density.

    Args:
        law: with `quantile`, `cdf` and `log_prob` at many points.
        mode: where the density may have a kink.
        zero: whether the number 0 has a probability of its own.
    """
    cuts = law.quantile(np.concatenate([[0.0], LEVELS, [1.0]]))
    low, high = cuts[0], cuts[-1]
    scale = np.ptp(cuts[1:-1]) or 1.0
    inner = np.clip(mode, cuts[1], cuts[-2])
    parts = [
        _panels(_refined(law, np.unique([*cuts[1:-1], inner]))),
        _tail(cuts[1], low, -scale),
        _tail(cuts[-2], high, scale),
    ]
    y, weight = (np.concatenate(side) for side in zip(*parts, strict=True))
    inside = (weight > 0) & (y > low) & (y < high) & (y != 0)
    y, weight = y[inside], weight[inside]
    logs = law.log_prob(y) + np.log(weight)
    if zero:
        y, logs = np.append(0.0, y), np.append(law.log_prob(np.zeros(1)), logs)
    return Rule(y, logs)


def _refined(law: Any, cuts: np.ndarray) -> np.ndarray:
    """More cuts, where Gauss's rule does not give the mass between two of them."""
    for _ in range(MAX_HALVINGS):
        y, weight = _panels(cuts)
        masses = (weight * np.exp(law.log_prob(y))).reshape(-1, N_NODES).sum(1)
        wrong = np.abs(masses - np.diff(law.cdf(cuts))) > MAX_MASS_ERROR
        wrong &= np.diff(cuts) > 1e-12 * np.abs(cuts[1:])
        if not wrong.any() or len(cuts) > MAX_PANELS:
            break
        middles = (cuts[:-1] + cuts[1:]) / 2
        cuts = np.sort(np.concatenate([cuts, middles[wrong]]))
    return cuts


def _panels(cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss's rule between each two cuts."""
    x, weight = _gauss()
    half = np.diff(cuts)[:, None] / 2
    return (cuts[:-1, None] + half * (x + 1)).ravel(), (half * weight).ravel()


def _tail(start: float, end: float, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """The double-exponential rule from a point to the end of the support."""
    t = np.linspace(-TAIL_REACH, TAIL_REACH, N_TAIL)
    step = t[1] - t[0]
    if np.isfinite(end):
        share = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
        weight = step * np.pi * np.cosh(t) * share * (1 - share)
        return start + (end - start) * share, abs(end - start) * weight
    x = np.exp(np.pi / 2 * np.sinh(t))
    return start + scale * x, abs(scale) * step * np.pi / 2 * np.cosh(t) * x


@lru_cache
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(N_NODES)
