"""The logarithm of the probability of one value at one leaf, compiled by numba."""

import math
from typing import no_type_check

import numpy as np

from likely.core.compiled import inner
from likely.generative.circuits.kernels.kinds import (
    CATEGORY,
    HISTOGRAM,
    NORMAL,
    OUTSIDE,
    POISSON,
    ROUNDED,
    STUDENT,
)

ROOT_HALF = math.sqrt(0.5)
HALF_LOG_2PI = 0.9189385332046727
MIN_DENSITY = 1e-290
"""Below this probability its logarithm comes from the tail of the normal distribution."""


@inner
@no_type_check
def leaf_log_prob(x, i, spec, numbers, tables):
    """The log probability of a value at leaf i.

    Args:
        x: the value, not missing.
        i: the number of the leaf.
        spec: (leaves, 5) kind, column, start and length of its table, start of its edges.
        numbers: (leaves, 6) a, b, c, the constant of the logarithm, log p at the mode, and
            the value of the leaf where x is missing: 0, for a sum over all x.
        tables: the tables and edges of all leaves.
    """
    kind, a, b, constant = spec[i, 0], numbers[i, 0], numbers[i, 1], numbers[i, 3]
    if kind == NORMAL:
        z = (x - a) * b  # b is 1/σ
        return constant - 0.5 * z * z
    if kind == STUDENT:
        z, nu = (x - a) * b, numbers[i, 2]
        return constant - 0.5 * (nu + 1.0) * math.log1p(z * z / nu)
    if kind == CATEGORY:
        k = int(x)
        return tables[spec[i, 2] + k] if 0 <= k < spec[i, 3] else -np.inf
    if kind == HISTOGRAM:
        k = bin_of(x, i, spec, tables)
        return OUTSIDE if k < 0 else tables[spec[i, 2] + k]
    if kind == ROUNDED:
        return rounded(abs(x - a) * b, 0.5 * numbers[i, 2] * b)
    if kind == POISSON:
        return x * b - a - math.lgamma(x + 1.0)
    return math.lgamma(x + a) - math.lgamma(x + 1.0) + x * b + constant


@inner
@no_type_check
def bin_of(x, i, spec, tables):
    """The number of the bin of a histogram that a value falls in; −1 outside."""
    first = spec[i, 4]
    low, high = first, first + spec[i, 3]
    if x < tables[low] or x >= tables[high]:
        return -1
    while high - low > 1:
        middle = (low + high) // 2
        if x >= tables[middle]:
            low = middle
        else:
            high = middle
    return low - first


@inner
@no_type_check
def rounded(z, half):
    """log(Φ(half − z) − Φ(−half − z)) for z ≥ 0."""
    p = 0.5 * (math.erfc((z - half) * ROOT_HALF) - math.erfc((z + half) * ROOT_HALF))
    if p > MIN_DENSITY:
        return math.log(p)
    t = z - half
    return -0.5 * t * t - math.log(t) - HALF_LOG_2PI
