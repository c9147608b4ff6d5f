"""The cost of fits in seconds of one core, as formulas of the size of the table.

The factors were measured once and rounded. A run is planned by these numbers and never
by the clock, so that the same table is always fitted by the same models.
"""

import math

BUDGET = {"quick": 2.0, "normal": 12.0, "thorough": 150.0}
"""Seconds for one candidate model on one fold, by effort."""


def tree(n: int, tried: float) -> float:
    """The cost of a fully grown tree that tries so many columns at each split."""
    return 8e-9 * n * math.log2(n + 2) * tried


def boosting_round(n: int, d: int, outputs: int) -> float:
    """The cost of a boosting round: a tree of 31 leaves for each output."""
    return 1e-3 + 6e-9 * n * d * outputs


def epoch(n: int, d: int, hidden: int) -> float:
    """The cost of an epoch of a network with one hidden layer."""
    return 5e-10 * n * d * hidden + 2e-6 * n


def distances(n: int, d: int) -> float:
    """The cost of the distances from every fourth row to every row."""
    return 0.25e-9 * n * n * (d + 20)


def support_vectors(n: int, d: int, fits: int) -> float:
    """The cost of support vector machines by the dual."""
    return 2.5e-8 * n * n * (1 + d / 50) * fits


def linear(n: int, p: int, fits: int) -> float:
    """The cost of least squares: one decomposition for all penalties of a fold."""
    return 2e-10 * n * p * p * (1 + fits / 40)


def newton(n: int, p: int, fits: int) -> float:
    """The cost of ten Newton steps on p coefficients, for each penalty and fold."""
    return 10 * fits * (1e-10 * n * p * p + 3e-10 * p**3)


def features(n: int, d: int, m: int) -> float:
    """The cost of Nyström features with m landmarks."""
    return 2e-10 * n * m * (d + m)


def curves(n: int, columns: int) -> float:
    """The cost of a spline: moments of ten functions of each column, a hundred solves."""
    q = 10 * columns
    return 1e-10 * n * q * q + 3e-8 * q**3
