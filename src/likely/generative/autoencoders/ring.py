r"""A normal distribution pushed to a ring: $g(z) = z/α + z/\lVert z \rVert$.

A simple prior and a function make a distribution that is not simple: the norm of g(z) is
exactly 1 + ‖z‖/α, so that the points lie on a ring of radius 1, the thinner the larger α is.
"""

from typing import Any

import numpy as np

from likely.base.settings import above_zero
from likely.core.checks import InputError


def gaussian_ring(Z: Any, alpha: float = 10.0) -> np.ndarray:
    """(n, d) g(z) of each row of normal draws.

    Args:
        Z: (n, d) rows, none of them 0.
        alpha: α; larger makes the ring thinner.
    """
    Z, alpha = np.asarray(Z, np.float64), above_zero("alpha", alpha)
    if Z.ndim != 2:
        raise InputError(f"Z has shape {Z.shape}; give rows.")
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    if not (norms > 0).all():
        raise InputError("a row of Z is 0, which has no direction; draw it again.")
    return Z / alpha + Z / norms
