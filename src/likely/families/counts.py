"""What the families of counts share: settings and the test for whole numbers."""

import numpy as np

from likely.core.checks import InputError


def count_of(value: int, name: str) -> int:
    """A setting that is a whole number of at least 1."""
    if not (np.ndim(value) == 0 and value >= 1 and value == np.floor(value)):
        raise InputError(f"{name} is {value}; give a whole number of at least 1.")
    return int(value)


def not_whole(y: np.ndarray) -> np.ndarray:
    """Negative, fractional, infinite or NaN."""
    return ~((y >= 0) & (y == np.floor(y)) & np.isfinite(y))
