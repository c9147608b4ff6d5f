"""The numbers of the rows that an index chooses, as an array does."""

from typing import Any

import numpy as np

from likely.core.checks import InputError


def row_numbers(rows: Any, n: int) -> np.ndarray:
    """The numbers of the rows that an index chooses."""
    if isinstance(rows, tuple):
        raise InputError(
            f"a distribution of {n} rows has one axis; give one index, slice, mask or list."
        )
    chosen = np.asarray(np.arange(n)[rows] if isinstance(rows, slice) else rows)
    if isinstance(rows, slice):
        return chosen
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise InputError(f"the mask has shape {chosen.shape}; give shape ({n},).")
        return np.flatnonzero(chosen)
    if chosen.ndim > 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise InputError(
            f"rows are chosen by a number, slice, mask or list, not {rows!r}."
        )
    chosen = np.atleast_1d(chosen).astype(int)
    outside = (chosen < -n) | (chosen >= n)
    if outside.any():
        raise IndexError(f"there is no row {chosen[outside][0]}; there are {n} rows.")
    return chosen % n if n else chosen
