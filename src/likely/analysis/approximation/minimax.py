r"""The polynomial of a degree that is nearest to a function in the largest error.

$$\min_{c, E} E \quad\text{with}\quad |f(x_i) - p_c(x_i)| \le E \quad\text{on a grid}$$

is a linear program. Its minimum bounds from below what any polynomial of the degree can reach on
the interval, since the grid is a part of it; the error of the solution on a finer grid is what this
one does reach. At the best polynomial the error takes its largest value at least n + 2 times with
alternating signs (Chebyshev).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev
from scipy.optimize import linprog

from likely.analysis.search import box_of
from likely.core.checks import InputError

GRID, FINE = 1001, 8001
MAX_DEGREE = 40
TIGHT = 1e-5
"""Errors within this part of the largest one count as largest."""


class MinimaxPolynomial(NamedTuple):
    """The result of `minimax_polynomial`: a polynomial that can be called."""

    coefficients: Float[np.ndarray, " n"]
    """In Chebyshev polynomials of the interval mapped to [−1, 1]."""
    error: float
    """Its largest error."""
    bound: float
    """No polynomial of the degree has a smaller largest error than this."""
    points: Float[np.ndarray, " m"]
    """Where its error is largest, with alternating signs."""
    low: float
    high: float

    def __call__(self, x: Any) -> np.ndarray:
        """The polynomial at points."""
        z = (2 * np.asarray(x, float) - self.low - self.high) / (self.high - self.low)
        return chebyshev.chebval(z, self.coefficients)


def minimax_polynomial(
    f: Callable, degree: int, low: float | int = -1.0, high: float | int = 1.0
) -> MinimaxPolynomial:
    """The best uniform approximation of a function by a polynomial.

    Args:
        f: a continuous function, called with (n,) arrays.
        degree: the degree n, at most 40.
        low: the lower end of the interval.
        high: the upper end.
    """
    if (
        isinstance(degree, bool)
        or int(degree) != degree
        or not 0 <= degree <= MAX_DEGREE
    ):
        raise InputError(
            f"degree is {degree}; give a whole number from 0 to {MAX_DEGREE}."
        )
    box = box_of(low, high)
    a, b = float(box.low[0]), float(box.high[0])
    (z, values), (fine, truth) = (_on_grid(f, a, b, n) for n in (GRID, FINE))
    scale = np.abs(values).max() or 1.0
    V = chebyshev.chebvander(z, int(degree))
    ones = np.ones((GRID, 1))
    solved = linprog(
        np.r_[np.zeros(V.shape[1]), 1.0],
        A_ub=np.block([[V, -ones], [-V, -ones]]),
        b_ub=np.r_[values, -values] / scale,
        bounds=[(None, None)] * V.shape[1] + [(0, None)],
        method="highs",
    )
    c = scale * solved.x[:-1]
    gap = values - V @ c
    error = float(np.abs(truth - chebyshev.chebval(fine, c)).max())
    largest = np.flatnonzero(np.abs(gap) >= (1 - TIGHT) * np.abs(gap).max())
    turns = largest[np.r_[True, np.diff(gap[largest] > 0)]]
    bound = min(max(scale * float(solved.fun) * (1 - 1e-7), 0.0), error)
    return MinimaxPolynomial(c, error, bound, 0.5 * (a + b + (b - a) * z[turns]), a, b)


def _on_grid(f: Callable, a: float, b: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of [−1, 1], denser at the ends, and the values of f there."""
    z = -np.cos(np.pi * np.arange(n) / (n - 1))
    values = np.asarray(f(0.5 * (a + b + (b - a) * z)), np.float64)
    if values.shape != z.shape or not np.isfinite(values).all():
        raise InputError("f has to give one finite number for each point of an array.")
    return z, values
