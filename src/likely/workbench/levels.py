r"""Nested intervals of numbers from zero on, which start at zero where zero is likely.

An interval is named by t on the scale of normal scores: it holds the central $2Φ(t) - 1$ of a
predicted distribution. Where zero has the probability π and lies below the lower end at no
t of interest, the interval starts at 0, and its upper end need not be that of a central
one: it stays where it was when zero came in until [0, Q(c)] at the same coverage c reaches
further. So intervals are nested, and short where zeros abound.

Quantiles between the levels of a table are interpolated, and beyond them extrapolated, on
the scale of normal scores. Scores and ends come from the same table, so that the
intervals that were conformalised are those that are used.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtri, ndtri_exp

from likely.workbench.quantiles import LEVELS

KINDS = ("positive", "nonnegative", "count", "survival")
"""The kinds of targets that have such intervals."""
SCORES = ndtri(LEVELS)
MAX_SCORE = 1e3
"""The largest t: beyond, a distribution says nothing about its tail."""


class NestedIntervals:
    """The nested intervals of some rows.

    Args:
        table: their quantiles at `LEVELS`.
        zero: the probability of zero of each row; None where only the table knows it.
    """

    def __init__(self, table: Float[np.ndarray, "n l"], zero: Any = None):
        n = len(table)
        self.values = np.maximum.accumulate(np.asarray(table, np.float64), axis=1)
        self.at = np.broadcast_to(SCORES, self.values.shape)
        if (
            zero is None
        ):  # counts have a step of the table at zero; others have no zeros
            self.start = _line(self.values, self.at, np.zeros(n))
            return
        self.start = ndtri(np.asarray(zero, np.float64))
        self.values = np.where(self.at <= self.start[:, None], 0.0, self.values)
        self.at = np.maximum(self.at, self.start[:, None])

    @classmethod
    def of_kind(
        cls, table: Float[np.ndarray, "n l"], zero: Any, kind: str
    ) -> "NestedIntervals":
        """The intervals of a kind of target; positive numbers are never zero."""
        return cls(table, np.zeros(len(table)) if kind == "positive" else zero)

    def scores(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The t of the smallest interval that holds each y."""
        z = _line(self.values, self.at, y)
        with np.errstate(invalid="ignore"):
            one_sided = -ndtri_exp(log_ndtr(-z) - np.log(2))
        upper = np.where(z <= -self.start, z, one_sided)
        found = np.where(y > 0, np.maximum(-z, upper), -self.start)
        return np.clip(found, 0.0, MAX_SCORE)

    def ends(self, t: Any) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the intervals t."""
        t = np.broadcast_to(np.asarray(t, np.float64), self.start.shape)
        tail = np.minimum(log_ndtr(-t) + np.log(2), -1e-300)
        one_sided = -ndtri_exp(tail)
        top = np.maximum(one_sided, np.minimum(t, -self.start))
        low = np.where(-t <= self.start, 0.0, _line(self.at, self.values, -t))
        high = _line(self.at, self.values, top)
        high = np.where(np.isinf(t), np.inf, np.maximum(high, 0.0))
        return np.maximum(low, 0.0), high


def _line(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The piecewise linear function through each row's (x, y), also beyond its ends."""
    left = np.clip((x <= at[:, None]).sum(1) - 1, 0, x.shape[1] - 2)
    rows = np.arange(len(x))
    a, b = x[rows, left], x[rows, left + 1]
    low, high = y[rows, left], y[rows, left + 1]
    flat = b <= a
    with np.errstate(over="ignore", invalid="ignore"):
        inside = low + (at - a) / np.where(flat, 1.0, b - a) * (high - low)
        inside = np.where(high > low, inside, low)
    beyond = np.where(at > a, np.inf, np.where(at < a, -np.inf, high))
    return np.where(flat, np.where(high > low, beyond, high), inside)
