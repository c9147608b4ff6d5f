r"""Fixed-point numbers, so that sums are exact and their order does not matter.

A number v becomes $\operatorname{round}(v 2^s)$ with s as large as the sum of all |v| allows
in 62 bits: finer than the rounding errors of float64 sums. With integer weights, w·v is w
times the integer of v, so a row of weight 2 is exactly the row twice.
"""

import numpy as np
from jaxtyping import Float, Int

BITS = 61


def fixed_weights(
    w: Float[np.ndarray, " n"], bits: int = 40
) -> tuple[Int[np.ndarray, " n"], float]:
    """The weights as integers, and their unit."""
    if (w == np.floor(w)).all() and w.sum() < 2.0**bits:
        return w.astype(np.int64), 1.0
    unit = 2.0 ** (np.ceil(np.log2(w.sum())) - bits)
    return np.maximum(np.rint(w / unit), w > 0).astype(np.int64), float(unit)


def fixed_products(
    v: Float[np.ndarray, " n"],
    w: Int[np.ndarray, " n"],
    unit: float,
    max_draws: float | int = 1,
) -> tuple[Int[np.ndarray, " n"], float]:
    """The products of weight and value as integers, and their unit.

    Args:
        v: values.
        w: integer weights.
        unit: the unit of the weights.
        max_draws: how many times a row may be drawn.
    """
    size = float(np.max(np.abs(v), initial=0.0)) * float(w.sum()) * unit * max_draws
    size = size if size > 0 else 1.0
    shift = 2.0 ** (BITS - np.ceil(np.log2(size)))
    if unit == 1.0:
        return np.rint(v * shift).astype(np.int64) * w, 1 / shift
    return np.rint(v * (w * unit) * shift).astype(np.int64), 1 / shift
