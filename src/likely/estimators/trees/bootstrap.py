"""Bootstraps of forests and bagging: each member's draw of the rows, as weights."""

from typing import Any

import numpy as np

from likely.base.settings import at_least
from likely.core.checks import InputError


def bootstrap_counts(seed: int, member: int, n: int, size: int) -> np.ndarray:
    """(n,) how often the bootstrap of a member draws each row.

    Args:
        seed: of the ensemble.
        member: the member's number.
        n: rows to draw from.
        size: number of draws.
    """
    rng = np.random.default_rng([seed, member])
    return np.bincount(rng.integers(0, n, size), minlength=n)


def bootstrap_size(max_samples: Any, n: int) -> int:
    """How many of n rows a bootstrap draws: a number, a share, or None for n."""
    if max_samples is None:
        return n
    if isinstance(max_samples, float):
        if not 0 < max_samples <= 1:
            raise InputError(f"max_samples is {max_samples}; give a share up to 1.")
        return max(1, round(max_samples * n))
    return at_least("max_samples", max_samples, 1, whole=True)
