"""The assignment of predictions to objects that costs least."""

from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment

from likely.core.checks import InputError, check_finite


def match(cost: Any) -> tuple[Int[np.ndarray, "*b k"], Int[np.ndarray, "*b k"]]:
    """Rows and columns of the one-to-one assignment with the least total cost.

    This is the Hungarian method (SciPy's variant of Jonker and Volgenant), O(n³).

    Args:
        cost: (n, m), or (b, n, m) for b problems of the same size.

    Returns:
        Row numbers (rising) and column numbers, each (k,) or (b, k), k = min(n, m).
    """
    table = np.asarray(cost, np.float64)
    if table.ndim not in (2, 3):
        raise InputError(f"cost has shape {table.shape}; give (n, m) or (b, n, m).")
    check_finite("cost", table)
    if table.ndim == 2:
        rows, columns = linear_sum_assignment(table)
        return rows, columns
    pairs = np.array([linear_sum_assignment(c) for c in table], np.int64)
    pairs = pairs.reshape(len(table), 2, min(table.shape[1:]))
    return pairs[:, 0], pairs[:, 1]
