"""The projection of each row on one direction, the same bits wherever the row stands."""

from typing import no_type_check

import numpy as np
from numba import float64

from likely.core.compiled import const, kernel

MISSING_PLACE = 2.0
"""Where a missing value stands; values stand between 0 and 1."""


@kernel(
    float64[::1](
        const(float64, 2), const(float64, 1), const(float64, 1), const(float64, 1)
    )
)
@no_type_check
def project(X, low, spread, direction):
    """(n,) Σⱼ direction[j] · (½x[j] − low[j]) / spread[j] of each row."""
    found = np.empty(len(X))
    for i in range(len(X)):
        total = 0.0
        for j in range(X.shape[1]):
            x = X[i, j]
            place = MISSING_PLACE if np.isnan(x) else (0.5 * x - low[j]) / spread[j]
            total += direction[j] * place
        found[i] = total
    return found
