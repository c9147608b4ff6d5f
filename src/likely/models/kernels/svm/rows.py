r"""Rows of a kernel matrix for the solver, compiled by numba.

The inputs are transposed, (d, n), so that a row is d vectorised updates of an
accumulator that stays in the first-level cache. RBF inputs are centred and scaled by √(2γ)
beforehand, with $s_i = γ\lVert x_i\rVert^2$: then $-γ\lVert x_i-x_j\rVert^2 = x_i·x_j - s_i - s_j$.
"""

from typing import Any, no_type_check

import numpy as np
from numba import njit

LINEAR, POLYNOMIAL, RBF, SIGMOID, PRECOMPUTED = range(5)
BLOCK_ROWS = 512
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"nnan", "nsz", "contract"},
}
LOG2_E, LN2_HIGH, LN2_LOW = (
    1.4426950408889634,
    0.6931471803691238,
    1.9082149292705877e-10,
)
ROUNDING_SHIFT = 6755399441055744.0
"""1.5·2⁵²: added to a double it leaves the rounded integer in the lowest bits."""


@njit(**OPTIONS)
@no_type_check
def exponentials(z, scratch):
    """Replace z by eᶻ for z ≤ 0, nearly to the last bit: 2ᵏ · polynomial of |r| ≤ ½ ln 2."""
    n = len(z)
    bits = scratch.view(np.int64)
    for t in range(n):
        scratch[t] = max(z[t], -708.0) * LOG2_E + ROUNDING_SHIFT
    for t in range(n):
        k = scratch[t] - ROUNDING_SHIFT
        r = max(z[t], -708.0) - k * LN2_HIGH - k * LN2_LOW
        p = 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 1.984126984126984e-04
        p = p * r + 1.388888888888889e-03
        p = p * r + 8.333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r + 1.0
        z[t] = p * r + 1.0
    for t in range(n):
        bits[t] = (bits[t] + 1023) << 52
    for t in range(n):
        z[t] *= scratch[t]


@njit(**OPTIONS)
@no_type_check
def products(XT, x, start, out):
    """Store in `out` the inner products of x with the columns from `start` on."""
    d, n = len(x), len(out)
    out[:] = 0.0
    k = 0
    while k + 4 <= d:
        a, b, c, e = x[k], x[k + 1], x[k + 2], x[k + 3]
        A, B = XT[k, start : start + n], XT[k + 1, start : start + n]
        C, E = XT[k + 2, start : start + n], XT[k + 3, start : start + n]
        for t in range(n):
            out[t] += a * A[t] + b * B[t] + c * C[t] + e * E[t]
        k += 4
    while k < d:
        a, A = x[k], XT[k, start : start + n]
        for t in range(n):
            out[t] += a * A[t]
        k += 1


@njit(**OPTIONS)
@no_type_check
def transform(kernel, z, own, norms, scratch):
    """Replace inner products z by the kernel."""
    kind, gamma, coef0, degree = kernel
    if kind == RBF:
        for t in range(len(z)):
            z[t] = min(z[t] - own - norms[t], 0.0)
        exponentials(z, scratch)
    elif kind == POLYNOMIAL:
        whole = int(degree)
        for t in range(len(z)):
            base = gamma * z[t] + coef0
            if whole == degree:
                value = 1.0
                for _ in range(whole):
                    value *= base
            else:
                value = base**degree
            z[t] = value
    elif kind == SIGMOID:
        for t in range(len(z)):
            z[t] = np.tanh(gamma * z[t] + coef0)


@njit(**OPTIONS)
@no_type_check
def kernel_row(kernel, XT, norms, x, own, out):  # noqa: PLR0917
    """Store in `out` K(x, ·) for the columns of XT; `own` is the s of x."""
    scratch = np.empty(BLOCK_ROWS)
    n = len(out)
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        part = out[start:stop]
        products(XT, x, start, part)
        transform(kernel, part, own, norms[start:stop], scratch[: stop - start])
