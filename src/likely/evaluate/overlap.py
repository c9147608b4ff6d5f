r"""How well two maps of classes agree: intersection over union."""

from typing import Any

import numpy as np
from jaxtyping import Float

from likely.core.checks import InputError


def intersection_over_union(
    codes: Any, predicted: Any, classes: int, w: Any = None
) -> Float[np.ndarray, " c"]:
    r"""The overlap $|A_c \cap B_c| / |A_c \cup B_c|$ of each class, over all pixels of all rows.

    It is 1 where all pixels agree, and NaN where a class is in neither map. Unlike in the
    share of correct pixels, a large class does not outweigh a small one.

    Args:
        codes: (n, ...) the class of each pixel, as a number.
        predicted: (n, ...) the predicted class of each pixel.
        classes: the number of classes.
        w: how often each row counts.

    Examples:
        >>> truth, found = np.array([[0, 1, 1, 1]]), np.array([[0, 0, 1, 1]])
        >>> lk.evaluate.intersection_over_union(truth, found, 2).round(2)
        array([0.5 , 0.67])
    """
    codes, predicted = (np.asarray(a).astype(int) for a in (codes, predicted))
    if codes.shape != predicted.shape:
        raise InputError(
            f"the maps have shapes {codes.shape} and {predicted.shape}; give two maps "
            "of the same pixels."
        )
    n = len(codes)
    w = np.ones(n) if w is None else np.asarray(w, np.float64)
    weight = np.repeat(w, codes.size // n)
    pairs = codes.ravel() * classes + predicted.ravel()
    table = np.bincount(pairs, weight, classes**2).reshape(classes, classes)
    both, either = np.diag(table), table.sum(0) + table.sum(1) - np.diag(table)
    return np.where(either > 0, both / np.where(either > 0, either, 1), np.nan)
