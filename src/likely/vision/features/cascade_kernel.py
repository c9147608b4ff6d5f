"""The compiled loop of a cascade: stages in turn, until one of them says no."""

from typing import no_type_check

import numpy as np
from numba import float64, int64, types, void

from likely.core.compiled import const, inner, kernel

MIN_VARIANCE = 1e-4
"""The least variance that a window is divided by, `haar.MIN_CONTRAST` squared."""


@inner
@no_type_check
def _sum(S, y1, x1, y2, x2):
    return S[y2, x2] - S[y1, x2] - S[y2, x1] + S[y1, x1]


STUMPS = (
    const(int64, 3),
    const(float64, 2),
    const(float64, 1),
    const(float64, 2),
    const(int64, 1),
    const(float64, 2),
)


@kernel(
    void(
        const(float64, 3),
        const(float64, 3),
        const(int64, 2),
        types.UniTuple(int64, 2),
        types.Tuple(STUMPS),
        int64[::1],
        float64[::1],
    )
)
@no_type_check
def run_cascade(S, Q, places, shape, stumps, passed, scores):  # noqa: PLR0917
    """How many stages each window passes, and its score in the last one that it reached.

    Args:
        S: (k, h + 1, w + 1) integral images.
        Q: likewise, of squares.
        places: (n, 3) image, y, x of each window.
        shape: (height, width) of windows.
        stumps: rectangles (t, 3, 4), weights (t, 3), thresholds (t,), values (t, 2) below and
            above them, where each stage starts (s + 1,), and its bias and cut (s, 2).
        passed: (n,) written.
        scores: (n,) written: the log-odds of that stage less its cut.
    """
    rectangles, weights, thresholds, values, starts, stages = stumps
    height, width = shape
    area = float(height * width)
    for i in range(len(places)):
        k, y, x = places[i, 0], places[i, 1], places[i, 2]
        mean = _sum(S[k], y, x, y + height, x + width) / area
        square = _sum(Q[k], y, x, y + height, x + width) / area
        scale = 1.0 / (area * np.sqrt(max(square - mean * mean, MIN_VARIANCE)))
        passed[i] = len(stages)
        for s in range(len(stages)):
            total = stages[s, 0]
            for t in range(starts[s], starts[s + 1]):
                value = 0.0
                for r in range(3):
                    if weights[t, r] != 0.0:
                        a, b = y + rectangles[t, r, 0], x + rectangles[t, r, 1]
                        c, d = y + rectangles[t, r, 2], x + rectangles[t, r, 3]
                        value += weights[t, r] * _sum(S[k], a, b, c, d)
                total += (
                    values[t, 0] if value * scale <= thresholds[t] else values[t, 1]
                )
            scores[i] = total - stages[s, 1]
            if scores[i] < 0.0:
                passed[i] = s
                break
