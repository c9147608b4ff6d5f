r"""The steps of skip-gram with negative sampling, compiled by numba.

For each pair of words near each other the vector x of one is moved along the gradient of

$$\log σ(f_0) + \sum_{i=1}^{k} \log σ(-f_i), \qquad f_i = x \cdot z_i - \log k,$$

with $z_0$ of the other word and $z_i$ of words drawn at random, and so are these. Several threads
may work on the same vectors at once: they seldom meet in the same row, and where they do a step is
lost.
"""

from typing import Any, no_type_check

import numpy as np
from numba import float32, float64, int32, int64, njit, uint64, void

from likely.core.compiled import OPTIONS, const, kernel

U = np.uint64
FAST: dict[str, Any] = {"fastmath": {"reassoc", "nsz", "arcp", "contract"}}
"""Sums may be computed in any order, so that they are vectorised."""
fast = njit(**OPTIONS, **FAST)


@fast
@no_type_check
def uniform(state):
    """The next random number from 0 to 1 (splitmix64)."""
    state[0] += U(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return np.float64((z ^ (z >> U(31))) >> U(11)) * 2.0**-53


@fast
@no_type_check
def draw(u, cumulative, guide):
    """The first entry whose cumulative probability is above u."""
    i = guide[np.int64(u * len(guide))]
    while cumulative[i] <= u:
        i += 1
    return i


@fast
@no_type_check
def kept_words(tokens, keep, state, words):
    """Copy the words that are not skipped; how many there are."""
    n = 0
    for word in tokens:
        if keep[word] >= 1.0 or uniform(state) < keep[word]:
            words[n] = word
            n += 1
    return n


@fast
@no_type_check
def window_width(reach, state):
    """How far the window around the next word reaches."""
    u, width = uniform(state), 1
    while width <= len(reach) and u >= reach[width - 1]:
        width += 1
    return width


@fast
@no_type_check
def draw_targets(word, negative, drawn, state, targets):
    """Store a word and the words at random that are other ones; how many there are."""
    targets[0], n = word, 1
    for _ in range(negative):
        other = draw(uniform(state), drawn[0], drawn[1])
        if other != word:
            targets[n] = other
            n += 1
    return n


@fast
@no_type_check
def learn_pair(x, targets, Z, first, rate, slopes, change):  # noqa: PLR0917
    """Move x towards the vector of the first target and away from the others, and them."""
    one = np.float32(1.0)
    for k in range(len(targets)):
        z, f = Z[targets[k]], first
        for j in range(len(x)):
            f += x[j] * z[j]
        slopes[k] = rate * (np.float32(k == 0) - one / (one + np.exp(-f)))
    change[:] = np.float32(0.0)
    for k in range(len(targets)):
        z, slope = Z[targets[k]], slopes[k]
        for j in range(len(x)):
            old = z[j]
            change[j] += slope * old
            z[j] = old + slope * x[j]
    for j in range(len(x)):
        x[j] += change[j]


@kernel(
    void(
        const(int32, 1), const(int64, 2), float32[:, ::1], float32[:, ::1],
        const(float64, 1), const(float64, 1), const(float64, 1), const(int32, 1),
        int64, const(float64, 1), uint64,
    ),
    **FAST,
)  # fmt: skip
@no_type_check
def train(  # noqa: PLR0917
    tokens, pieces, X, Z, keep, reach, cumulative, guide, negative, rates, seed
):
    """Move the vectors once for each pair of words in some pieces of text.

    Args:
        tokens: (n,) the numbers of words.
        pieces: (m, 2) the first token of each piece and the end of it.
        X: (V, d) the vectors of words.
        Z: (V, d) their vectors as neighbours.
        keep: (V,) with what probability a word is not skipped.
        reach: (R - 1,) below which random number a window is at most 1, 2, ... wide.
        cumulative: (V,) probabilities of negative words, added up.
        guide: (b,) the first entry of `cumulative` that is above 0, 1/b, 2/b, ...
        negative: the number of negative words.
        rates: the step size at the beginning and at the end.
        seed: of the random numbers.
    """
    state, longest, drawn = np.full(1, seed), 0, (cumulative, guide)
    first = np.float32(-np.log(negative))  # f of words that have nothing to do with it
    for p in range(len(pieces)):
        longest = max(longest, pieces[p, 1] - pieces[p, 0])
    words, targets = np.empty(longest, np.int32), np.empty(1 + negative, np.int32)
    slopes, change = np.empty(1 + negative, np.float32), np.empty_like(X[0])
    for p in range(len(pieces)):
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * p / len(pieces))
        n = kept_words(tokens[pieces[p, 0] : pieces[p, 1]], keep, state, words)
        for i in range(n):
            width = window_width(reach, state)
            count = draw_targets(words[i], negative, drawn, state, targets)
            for j in range(max(0, i - width), min(n, i + width + 1)):
                if j != i:
                    x = X[words[j]]
                    learn_pair(x, targets[:count], Z, first, rate, slopes, change)
