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
    return 8e-10 * n * d * hidden + 2e-6 * n


def distances(n: int, d: int) -> float:
    """From each fourth row to every row."""
    return 0.25e-9 * n * n * (d + 20)


def machine(n: int, d: int, fits: int) -> float:
    """Support vector machines by the dual."""
    return 2.5e-8 * n * n * (1 + d / 50) * fits


def landmarks(n: int, d: int, m: int, fits: int) -> float:
    """Features of m landmarks, and a linear model on them for each strength and fold."""
    return 2e-10 * n * m * d + 1e-10 * n * m * m * fits


def curves(n: int, columns: int) -> float:
    """Moments of ten functions a column, and a hundred solutions of their equations."""
    q = 10 * columns
    return 1e-10 * n * q * q + 3e-8 * q**3
