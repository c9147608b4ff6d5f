"""A distribution as values with weights."""

from typing import Any

import numpy as np

from likely.core.checks import InputError
from likely.information.expectation import LEVELS, MAX_COUNTS, log_prob_at

NODES_PER_SEGMENT = 20


def weighted_values(p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values with weights by which Σ w g(y) is E_p[g(Y)]."""
    if p.discrete:
        last = float(p.quantile(1 - 1e-16)[0])
        if not last <= MAX_COUNTS:
            raise InputError(
                f"counts of p go up to {last:g}, too many to sum; divide them by a unit."
            )
        y = np.arange(2 * int(last) + 60.0)
        return y, np.exp(log_prob_at(p, np.zeros(len(y), int), y))
    levels = np.concatenate([LEVELS, [0.5], 1 - LEVELS[::-1]])
    cuts = np.unique(np.asarray(p.quantile(levels))[0])
    x, weight = np.polynomial.legendre.leggauss(NODES_PER_SEGMENT)
    half = 0.5 * np.diff(cuts)[:, None]
    y = (0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * x).ravel()
    w = (half * weight).ravel() * np.exp(log_prob_at(p, np.zeros(len(y), int), y))
    return y, w / w.sum()
