"""What fits cost, in seconds of one core, as formulas of the size of the table.

The factors were measured once and rounded. A run is planned by these numbers and never
by the clock, so that the same table always climbs the same ladder.
"""

import math

BUDGET = {"quick": 2.0, "normal": 12.0, "thorough": 150.0}
"""For one rung on one fold."""


def tree(n: int, tried: float) -> float:
    """A tree that is grown out; at each split so many columns are tried."""
    return 8e-9 * n * math.log2(n + 2) * tried


def boosting_round(n: int, d: int, outputs: int) -> float:
    """A tree of 31 leaves for each output."""
    return 1e-3 + 6e-9 * n * d * outputs


def epoch(n: int, d: int, hidden: int) -> float:
    """A network of one hidden layer, once over all rows."""
    return 5e-10 * n * d * hidden + 2e-6 * n


def distances(n: int, d: int) -> float:
    """From each fourth row to every row."""
    return 0.25e-9 * n * n * (d + 20)


def machine(n: int, d: int, fits: int) -> float:
    """Support vector machines by the dual."""
    return 2.5e-8 * n * n * (1 + d / 50) * fits


def linear(n: int, p: int, fits: int) -> float:
    """Least squares: one decomposition for all strengths of a fold."""
    return 2e-10 * n * p * p * (1 + fits / 40)


def newton(n: int, p: int, fits: int) -> float:
    """Ten steps of Newton's method on p coefficients, for each strength and fold."""
    return 10 * fits * (1e-10 * n * p * p + 3e-10 * p**3)


def features(n: int, d: int, m: int) -> float:
    """The values of m landmarks."""
    return 2e-10 * n * m * (d + m)


def curves(n: int, columns: int) -> float:
    """Moments of ten functions a column, and a hundred solutions of their equations."""
    q = 10 * columns
    return 1e-10 * n * q * q + 3e-8 * q**3
