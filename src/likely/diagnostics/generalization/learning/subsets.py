"""Nested parts of training rows, from few to all: the sizes of a learning curve."""

from typing import Any

import numpy as np
from jaxtyping import Int

from likely.core.checks import InputError
from likely.core.written_numbers import counted

N_SIZES, MIN_ROWS, ROWS_PER_CLASS, ROWS_PER_COLUMN = 8, 10, 3, 4
MIN_RANGE, MAX_RANGE = 6.0, 20.0
"""Bounds of the ratio of the largest to the smallest size, by default."""


def curve_sizes(sizes: Any, most: int, n_classes: int, d: int) -> Int[np.ndarray, " s"]:
    """The numbers of training rows, rising.

    Args:
        sizes: numbers of rows, or shares of the training rows (above 0, at most 1); None for
            eight sizes in equal ratios.
        most: training rows of the smallest fold.
        n_classes: the number of classes, 0 where y is a number.
        d: columns.
    """
    least = max(2, n_classes)
    if sizes is None:
        enough = min(ROWS_PER_COLUMN * (d + 1), most / MIN_RANGE)
        low = max(MIN_ROWS, ROWS_PER_CLASS * n_classes, enough, most / MAX_RANGE)
        return np.unique(
            np.geomspace(min(low, most), most, N_SIZES).round().astype(int)
        )
    given = np.atleast_1d(np.asarray(sizes, np.float64))
    if given.size == 0 or not np.isfinite(given).all():
        raise InputError(
            f"sizes is {sizes!r}; give numbers of rows, or shares of them."
        )
    shares = np.asarray(sizes).dtype.kind == "f" and (given <= 1).all()
    rows = np.unique((given * most if shares else given).round().astype(int))
    if rows[0] < least or rows[-1] > most:
        raise InputError(
            f"sizes go from {rows[0]} to {rows[-1]} rows; a training set has from {least} to "
            f"{counted(most, 'row')} here."
        )
    return rows


def random_order(
    rows: Int[np.ndarray, " n"],
    y: np.ndarray,
    rng: np.random.Generator,
    *,
    classes: bool,
    groups: np.ndarray | None,
) -> Int[np.ndarray, " n"]:
    """Rows in an order of which every beginning is a fair sample.

    Groups follow each other whole. Of classes one row each comes first, then all in equal
    shares.

    Args:
        rows: indices of the rows.
        y: targets of all rows.
        rng: where randomness comes from.
        classes: whether y is a class.
        groups: what each row belongs to, or None.
    """
    order = rng.permutation(rows)
    if groups is not None:
        label = np.unique(groups[order], return_inverse=True)[1]
        place = rng.permutation(label.max() + 1)[label]
        return order[np.argsort(place, kind="stable")]
    if not classes:
        return order
    label, counts = np.unique(y[order], return_inverse=True, return_counts=True)[1:]
    rank = np.empty(len(order), int)
    for c, count in enumerate(counts):
        rank[label == c] = np.arange(count)
    place = (rank + 0.5) / counts[label]
    return order[np.lexsort((place, rank > 0))]
