r"""First and second derivatives of −log p in η, and their form as integers.

The most common families have closed forms, computed in one pass over the rows; for all
others `log_prob` is differentiated (`boosting.derivatives_of`). The second derivative is
made positive: it is the expected one (the Fisher information) where that is known.

| family | η | first | second |
|---|---|---|---|
| normal, fixed σ | μ | $(μ-y)/σ^2$ | $1/σ^2$ |
| normal | μ, log σ | $(μ-y)/σ^2$, $1-z^2$ | $1/σ^2$, 2 (expected) |
| Bernoulli | log-odds | $p-y$ | $p(1-p)$ |
| categorical | k logits | $p_c-1_{y=c}$ | $p_c(1-p_c)\,\frac{k}{k-1}$ (all logits change) |
| Poisson | log μ | $μ-y$ | $\max(μ, |μ-y|)$, so that no leaf changes η by more than 1 |
"""

from typing import no_type_check

import numpy as np
from numba import float64, int64, types, void

from likely.core.compiled import kernel

FIXED_NORMAL, NORMAL, BERNOULLI, CATEGORICAL, POISSON = range(5)


@kernel(
    void(
        int64,
        float64[:, ::1],
        float64[::1],
        float64[:, ::1],
        float64[:, ::1],
        int64,
        int64,
    )
)
@no_type_check
def closed_form(kind, eta, y, g, h, start, stop):  # noqa: PLR0917, C901
    """Fill g and h, (k, n), from η, (n, k), for a range of rows."""
    k = eta.shape[1]
    if kind == FIXED_NORMAL:
        for i in range(start, stop):
            g[0, i] = eta[i, 0] - y[i]
            h[0, i] = 1.0
    elif kind == NORMAL:
        for i in range(start, stop):
            precision = np.exp(-2 * eta[i, 1])
            r = eta[i, 0] - y[i]
            g[0, i], h[0, i] = r * precision, precision
            g[1, i], h[1, i] = 1 - r * r * precision, 2.0
    elif kind == BERNOULLI:
        for i in range(start, stop):
            p = 1 / (1 + np.exp(-eta[i, 0]))
            g[0, i] = p - y[i]
            h[0, i] = p * (1 - p)
    elif kind == CATEGORICAL:
        factor = k / (k - 1.0)
        for i in range(start, stop):
            top, total = eta[i, 0], 0.0
            for c in range(1, k):
                top = max(top, eta[i, c])
            for c in range(k):
                g[c, i] = np.exp(eta[i, c] - top)
                total += g[c, i]
            for c in range(k):
                p = g[c, i] / total
                g[c, i] = p - (1.0 if y[i] == c else 0.0)
                h[c, i] = p * (1 - p) * factor
    else:
        for i in range(start, stop):
            mean = np.exp(min(eta[i, 0], 700.0))
            g[0, i] = mean - y[i]
            h[0, i] = max(mean, abs(mean - y[i]))


@kernel(
    types.UniTuple(float64, 3)(
        float64[::1], float64[::1], int64[::1], float64, int64[:, ::1], int64, int64
    )
)
@no_type_check
def quantise(g, h, w, unit, out, bits, max_bits):  # noqa: PLR0917
    """Store weighted derivatives as integers; returns their units and the sum of w·h."""
    sum_g, sum_h = 0.0, 0.0
    for i in range(len(g)):
        if w[i] > 0:
            sum_g += abs(g[i]) * (w[i] * unit)
            sum_h += h[i] * (w[i] * unit)
    size_g = np.ceil(np.log2(sum_g)) if sum_g > 0 else 0.0
    size_h = np.ceil(np.log2(sum_h)) if sum_h > 0 else 0.0
    shift_g, shift_h = 2.0 ** (max_bits - size_g), 2.0 ** (max_bits - bits - size_h)
    whole = unit == 1.0
    for i in range(len(g)):
        if w[i] == 0:
            out[i, 0] = out[i, 1] = 0
        elif whole:
            out[i, 0] = int64(np.rint(g[i] * shift_g)) * w[i]
            out[i, 1] = ((int64(np.rint(h[i] * shift_h)) * w[i]) << bits) + w[i]
        else:
            v = w[i] * unit
            out[i, 0] = int64(np.rint(g[i] * v * shift_g))
            out[i, 1] = (int64(np.rint(h[i] * v * shift_h)) << bits) + w[i]
    return 1 / shift_g, 1 / shift_h, sum_h


@kernel(float64(float64[::1], int64[::1], int64[:, ::1], int64, int64))
@no_type_check
def quantise_with_count(g, w, out, bits, max_bits):
    """Store first derivatives of rows of weight 1 (or 0) beside a 1; returns their unit."""
    total = 0.0
    for i in range(len(g)):
        if w[i] > 0:
            total += abs(g[i])
    size = np.ceil(np.log2(total)) if total > 0 else 0.0
    shift = 2.0 ** (max_bits - bits - size)
    for i in range(len(g)):
        out[i, 0] = (int64(np.rint(g[i] * shift)) << bits) + 1 if w[i] > 0 else 0
    return 1 / shift


@kernel(void(float64[:, ::1], int64, types.int32[::1], int64[:, ::1], float64[:, ::1]))
@no_type_check
def add_to_rows(eta, entry, rows, leaves, value):
    """Add to one entry of η of every row the value of its leaf."""
    for leaf in range(len(leaves)):
        step = value[leaves[leaf, 0], 0]
        for i in range(leaves[leaf, 1], leaves[leaf, 2]):
            eta[rows[i], entry] += step


@kernel(
    void(
        float64[::1],
        float64[::1],
        float64[::1],
        types.int32[::1],
        int64[:, ::1],
        float64[:, ::1],
        float64[::1],
        float64,
        float64,
    )
)
@no_type_check
def add_leave_one_out(  # noqa: PLR0917
    loo, g, w, rows, leaves, value, weight, rate, l2
):
    """Squared error: add to every row what its leaf would be without the row.

    A leaf −G/(W + λ) without row i is −(G − wᵢgᵢ)/(W + λ − wᵢ).
    """
    for leaf in range(len(leaves)):
        node = leaves[leaf, 0]
        H = weight[node] + l2
        G = -value[node, 0] / rate * H
        for at in range(leaves[leaf, 1], leaves[leaf, 2]):
            i = rows[at]
            rest = H - w[i]
            if rest > 0.5 * w[i]:
                loo[i] -= rate * (G - w[i] * g[i]) / rest
