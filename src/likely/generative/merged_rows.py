"""Different rows of codes in an order of their own, with the sums of their weights.

What is computed from them is a function of the set of rows: to the bit, a row of weight 2 is
the row twice, and another order of rows changes nothing. Tables of few levels become short.
"""

import numpy as np


def merged_rows(V: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, q) the different rows, sorted, and (m,) their weights.

    Args:
        V: (n, q) codes; NaN is a value like others.
        w: (n,) weights above 0.
    """
    keys = np.where(np.isnan(V), np.inf, V)
    order = np.lexsort(keys.T[::-1])
    keys, w = keys[order], np.asarray(w, np.float64)[order]
    first = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(1)])
    found = keys[first]
    return np.where(np.isinf(found), np.nan, found), np.add.reduceat(w, first)
