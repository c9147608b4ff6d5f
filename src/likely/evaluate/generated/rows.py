"""Checked rows of numbers: features of generated and of real rows."""

from typing import Any

import numpy as np

from likely.core.checks import InputError


def feature_rows(least: int = 2, **sets: Any) -> list[np.ndarray]:
    """Sets of rows as (n, d) arrays of finite numbers with the same columns.

    Args:
        least: the fewest rows that a set may have.
        sets: the sets by the name that an error calls them.
    """
    found = []
    for name, rows in sets.items():
        X = np.asarray(rows, np.float64)
        if X.ndim != 2:
            raise InputError(
                f"{name} has shape {X.shape}; give rows and columns of numbers."
            )
        if len(X) < least:
            raise InputError(f"{name} has {len(X)} rows; give at least {least}.")
        if not np.isfinite(X).all():
            row = int(np.argmin(np.isfinite(X).all(1)))
            raise InputError(
                f"{name} contains NaN or infinity (row {row}); fill or leave it out."
            )
        found.append(X)
    widths = {X.shape[1] for X in found}
    if len(widths) > 1:
        listing = ", ".join(
            f"{name} has {X.shape[1]}" for name, X in zip(sets, found, strict=True)
        )
        raise InputError(f"the sets differ in their number of columns: {listing}.")
    return found


def check_neighbors(k: int, *sets: np.ndarray) -> int:
    """A number of neighbours that every set can give.

    Args:
        k: how many.
        sets: rows, each of which looks among the others of its set.
    """
    most = min(len(X) for X in sets) - 1
    if not 1 <= k <= most or int(k) != k:
        raise InputError(
            f"n_neighbors is {k}; give a whole number from 1 to {most}, fewer than each "
            "set has rows."
        )
    return int(k)
