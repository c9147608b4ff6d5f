"""Least squares in rational arithmetic: an oracle without rounding."""

import math
from fractions import Fraction

import numpy as np


def rational(A) -> list[list[Fraction]]:
    return [[Fraction(float(a)) for a in row] for row in np.asarray(A)]


def solve(A: list[list[Fraction]], B: list[list[Fraction]]) -> list[list[Fraction]]:
    """A⁻¹B by elimination."""
    n, rows = len(A), [list(a) + list(b) for a, b in zip(A, B, strict=True)]
    for c in range(n):
        best = max(range(c, n), key=lambda r: abs(rows[r][c]))
        rows[c], rows[best] = rows[best], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for r in range(n):
            if r != c and rows[r][c]:
                factor = rows[r][c]
                rows[r] = [
                    u - factor * v for u, v in zip(rows[r], rows[c], strict=True)
                ]
    return [row[n:] for row in rows]


def regression(A, b) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and their standard deviations, rounded once, at the end."""
    A, b = rational(A), [Fraction(float(v)) for v in b]
    n, p = len(A), len(A[0])
    gram = [[sum(row[i] * row[j] for row in A) for j in range(p)] for i in range(p)]
    right = [
        [sum(row[i] * v for row, v in zip(A, b, strict=True))]
        + [Fraction(int(i == j)) for j in range(p)]
        for i in range(p)
    ]
    found = solve(gram, right)
    x = [row[0] for row in found]
    fitted = [sum(a * c for a, c in zip(row, x, strict=True)) for row in A]
    s2 = sum((v - f) ** 2 for v, f in zip(b, fitted, strict=True)) / (n - p)
    spread = [math.sqrt(s2 * found[i][1 + i]) for i in range(p)]
    return np.array([float(v) for v in x]), np.array(spread)
