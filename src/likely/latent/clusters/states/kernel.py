r"""Forward-backward and Viterbi over many sequences, compiled by numba.

With a the probabilities of the first state, A those of the next state and
$b_{tj} = p(x_t \mid z_t = j)$, the forward pass keeps $α_t$, scaled to sum to one:

$$c_t α_{tj} = b_{tj} \sum_i α_{t-1,i} A_{ij}, \qquad \log p(x) = \sum_t \log c_t,$$

and the backward pass $β_{ti} = \sum_j A_{ij} b_{t+1,j} β_{t+1,j} / c_{t+1}$, from which
$p(z_t = j \mid x) = α_{tj} β_{tj}$. A sequence in which a scale underflows, because a state that
is far from likely is the only one that can be reached, is done again in logarithms.
"""

from typing import Any, no_type_check

import numpy as np
from numba import float64, int64, njit, void

from likely.core.compiled import OPTIONS, const, inner, kernel

LEAST_SCALE = 1e-280
FAST: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
"""Sums over states may be computed in any order, so that they are vectorised."""
fast = njit(**OPTIONS, **FAST)


@inner
@no_type_check
def log_sum(x):
    """log Σ exp x, −∞ where all are."""
    top = x.max()
    return top if top == -np.inf else top + np.log(np.exp(x - top).sum())


@inner
@no_type_check
def add_in_logs(L, a, A, w, G, starts, pairs):  # noqa: PLR0917
    """The posterior of one sequence in logarithms: slower, and never 0/0."""
    t, k = L.shape
    log_A, log_a = np.log(A), np.log(a)
    F, B, x = np.empty((t, k)), np.zeros((t, k)), np.empty(k)
    F[0] = log_a + L[0]
    for s in range(1, t):
        for j in range(k):
            F[s, j] = log_sum(F[s - 1] + log_A[:, j]) + L[s, j]
    total = log_sum(F[t - 1])
    if total == -np.inf:
        G[:] = 0.0
        return total
    for s in range(t - 2, -1, -1):
        for i in range(k):
            x[:] = log_A[i] + L[s + 1] + B[s + 1]
            B[s, i] = log_sum(x)
            for j in range(k):
                pairs[i, j] += w * np.exp(F[s, i] + x[j] - total)
    G[:] = w * np.exp(F + B - total)
    starts += G[0]
    return total


@fast
@no_type_check
def forward(L, a, A, alpha, b, scales):  # noqa: PLR0917
    """Fill α, b and the scales; the log-likelihood, NaN where a scale underflows."""
    t, k = L.shape
    total, row = 0.0, np.empty(k)
    for s in range(t):
        top = L[s, 0]
        for j in range(1, k):
            top = max(top, L[s, j])
        if top == -np.inf:
            return np.nan
        if s == 0:
            row[:] = a
        else:
            row[:] = 0.0
            for i in range(k):
                p = alpha[s - 1, i]
                for j in range(k):
                    row[j] += p * A[i, j]
        c = 0.0
        for j in range(k):
            b[s, j] = np.exp(L[s, j] - top)
            row[j] *= b[s, j]
            c += row[j]
        if not c > LEAST_SCALE:
            return np.nan
        for j in range(k):
            alpha[s, j] = row[j] / c
        scales[s] = c
        total += np.log(c) + top
    return total


@fast
@no_type_check
def backward(A, w, alpha, b, scales, G, starts, pairs):  # noqa: PLR0917
    """Write w·p(z_t | x) to G; add those of first states and of pairs, less the factor A."""
    t, k = G.shape
    beta, v = np.ones(k), np.empty(k)
    for s in range(t - 1, -1, -1):
        for j in range(k):
            G[s, j] = w * alpha[s, j] * beta[j]
        if s == 0:
            break
        for j in range(k):
            v[j] = b[s, j] * beta[j] / scales[s]
        for i in range(k):
            p, total = w * alpha[s - 1, i], 0.0
            for j in range(k):
                pairs[i, j] += p * v[j]
                total += A[i, j] * v[j]
            beta[i] = total
    for j in range(k):
        starts[j] += G[0, j]


@kernel(
    void(
        const(float64, 2), const(int64, 1), const(float64, 1), const(float64, 1),
        const(float64, 2), int64, int64, float64[:, ::1], float64[::1],
        float64[::1], float64[:, ::1],
    )
)  # fmt: skip
@no_type_check
def posterior(L, ends, w, a, A, first, last, G, log_prob, starts, pairs):  # noqa: PLR0917
    """The posterior of the states of some sequences, and the counts that it expects.

    Args:
        L: (positions, k) log p(x_t | z_t = j).
        ends: (n + 1,) where each sequence begins, and the end of the last.
        w: (n,) how often each sequence counts.
        a: (k,) the probabilities of the first state.
        A: (k, k) those of the next state.
        first: the first of the sequences.
        last: the one after the last of them.
        G: (positions, k) filled with w·p(z_t = j | x).
        log_prob: (n,) filled with log p(x).
        starts: (k,) what is added to: the expected number of first states.
        pairs: (k, k) what is added to: the expected number of pairs of states.
    """
    k, longest = len(a), 0
    for s in range(first, last):
        longest = max(longest, ends[s + 1] - ends[s])
    alpha, b, scales = np.empty((longest, k)), np.empty((longest, k)), np.empty(longest)
    scaled = np.zeros((k, k))
    for s in range(first, last):
        own = L[ends[s] : ends[s + 1]]
        gamma = G[ends[s] : ends[s + 1]]
        log_prob[s] = forward(own, a, A, alpha, b, scales)
        if np.isnan(log_prob[s]):
            log_prob[s] = add_in_logs(own, a, A, w[s], gamma, starts, pairs)
        else:
            backward(A, w[s], alpha, b, scales, gamma, starts, scaled)
    pairs += A * scaled


@kernel(
    void(
        const(float64, 2), const(int64, 1), const(float64, 1), const(float64, 2),
        int64, int64, int64[::1],
    )
)  # fmt: skip
@no_type_check
def viterbi(L, ends, log_a, log_A, first, last, path):  # noqa: PLR0917
    """The likeliest sequence of states of some sequences; ties go to the lower number."""
    k = len(log_a)
    for s in range(first, last):
        own, t = L[ends[s] : ends[s + 1]], ends[s + 1] - ends[s]
        best, back = log_a + own[0], np.empty((t, k), np.int64)
        for u in range(1, t):
            new = np.empty(k)
            for j in range(k):
                before = 0
                for i in range(1, k):
                    if best[i] + log_A[i, j] > best[before] + log_A[before, j]:
                        before = i
                back[u, j] = before
                new[j] = best[before] + log_A[before, j] + own[u, j]
            best = new
        state = np.argmax(best)
        for u in range(t - 1, -1, -1):
            path[ends[s] + u] = state
            if u:
                state = back[u, state]
