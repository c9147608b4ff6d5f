"""Histograms of derivatives over the bins of features, and the best split of a feature."""

from typing import no_type_check

import numpy as np
from numba import int64

from likely.core.compiled import inner
from likely.models.trees.atomics import add_pair

U = np.uint64
MIN_LEAF, MIN_HESSIAN, MIN_GAIN, L2, SMOOTH, UNIT_G, UNIT_H, UNIT_W = range(8)
BLOCK_SIZE = 2048
"""Numbers in the histograms of four features: two for each of 256 bins."""


@inner
@no_type_check
def fill(codes, rows, gh, in_order, hist):
    """Fill the histograms of a block of four features over some rows.

    With `in_order`, gh has the derivatives in the order of `rows`.
    """
    for i in range(BLOCK_SIZE):
        hist[i] = 0
    for i in range(U(len(rows))):
        row = U(rows[i])
        word = U(codes[row])
        at = int64(i if in_order else row)
        add_pair(hist, int64((word & U(255)) * U(2)), gh, at)
        add_pair(hist, int64(((word >> U(8)) & U(255)) * U(2) + U(512)), gh, at)
        add_pair(hist, int64(((word >> U(16)) & U(255)) * U(2) + U(1024)), gh, at)
        add_pair(hist, int64((word >> U(24)) * U(2) + U(1536)), gh, at)


@inner
@no_type_check
def fill_with_count(codes, rows, words, in_order, hist, bits):  # noqa: PLR0917
    """`fill` where each row has one word [G | 1]: words are summed, then split."""
    for i in range(BLOCK_SIZE // 2):
        hist[i] = 0
    for i in range(U(len(rows))):
        row = U(rows[i])
        code = U(codes[row])
        word = words[i if in_order else row, 0]
        hist[code & U(255)] += word
        hist[((code >> U(8)) & U(255)) + U(256)] += word
        hist[((code >> U(16)) & U(255)) + U(512)] += word
        hist[(code >> U(24)) + U(768)] += word
    mask, one = (int64(1) << bits) - int64(1), (int64(1) << bits) + int64(1)
    for i in range(BLOCK_SIZE // 2):
        k = BLOCK_SIZE // 2 - 1 - i
        word = hist[k]
        hist[2 * k] = word >> bits
        hist[2 * k + 1] = (word & mask) * one


@inner
@no_type_check
def value_of(G, H, bounds):
    """The best value of a leaf, within its bounds."""
    v = -G / H if H > 0 else 0.0
    return min(max(v, bounds[0]), bounds[1])


@inner
@no_type_check
def sort_categories(hist, n_bins, numbers, bins, keys):
    """Sort the categories that occur by their smoothed value; returns how many."""
    found = 0
    shift = U(int64(numbers[8]))
    for b in range(n_bins + 1):
        if hist[2 * b + 1] != 0:
            G = hist[2 * b] * numbers[UNIT_G]
            H = (hist[2 * b + 1] >> shift) * numbers[UNIT_H]
            key, a = G / (H + numbers[SMOOTH]), found - 1
            while a >= 0 and keys[a] > key:
                keys[a + 1], bins[a + 1] = keys[a], bins[a]
                a -= 1
            keys[a + 1], bins[a + 1] = key, b
            found += 1
    return found


@inner
@no_type_check
def best_cut(hist, n_bins, categorical, sign, total, bounds, numbers):  # noqa: PLR0915, PLR0917, C901
    """The best split of one feature: gain, cut (code or number of categories), direction."""
    unit_g, unit_h, unit_w = numbers[UNIT_G], numbers[UNIT_H], numbers[UNIT_W]
    l2, min_w, min_h = numbers[L2], numbers[MIN_LEAF], numbers[MIN_HESSIAN]
    shift = U(int64(numbers[8]))
    mask = (int64(1) << int64(numbers[8])) - int64(1)
    free = sign == 0 and bounds[0] == -np.inf and bounds[1] == np.inf
    G, H = total[0] * unit_g, (total[1] >> shift) * unit_h + l2
    v = value_of(G, H, bounds)
    whole = -(G * v + 0.5 * H * v * v)
    best, cut, missing_left = -np.inf, -1, False
    bins = np.empty(0, np.int64)
    steps, missing = n_bins, hist[1] != 0 and not categorical
    if categorical:
        bins = np.empty(256, np.int64)
        steps = sort_categories(hist, n_bins, numbers, bins, np.empty(256))
    for direction in range(2):
        if direction and not missing:
            break
        g, hw = int64(0), int64(0)
        if direction:
            g, hw = hist[0], hist[1]
        for s in range(steps if missing and not direction else steps - 1):
            b = bins[s] if categorical else s + 1
            if hist[2 * b + 1] == 0:
                continue
            g += hist[2 * b]
            hw += hist[2 * b + 1]
            other = total[1] - hw
            if (hw & mask) * unit_w < min_w:
                continue
            if (other & mask) * unit_w < min_w:
                break
            h1, h2 = (hw >> shift) * unit_h, (other >> shift) * unit_h
            if h1 < min_h or h2 < min_h:
                continue
            h1 += l2
            h2 += l2
            g1 = g * unit_g
            g2 = G - g1
            if free:  # no division unless it is the best so far
                above, below = g1 * g1 * h2 + g2 * g2 * h1, h1 * h2
                if above <= 2 * (best + whole) * below:
                    continue
                gain = 0.5 * above / below - whole
            else:
                v1, v2 = value_of(g1, h1, bounds), value_of(g2, h2, bounds)
                if sign * (v2 - v1) < 0:
                    continue
                gain = -(g1 * v1 + 0.5 * h1 * v1 * v1) - whole
                gain -= g2 * v2 + 0.5 * h2 * v2 * v2
            if gain > best:
                best, cut = gain, s + 1
                missing_left = direction == 1
    return best, cut, missing_left
