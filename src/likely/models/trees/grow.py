r"""Growing one tree, depth first or best first, on fixed-point statistics.

Every row has statistics (its weight, weight times target, ...) in fixed point, so sums are
exact and do not depend on their order: the same bits for any number of threads, and w = 2
is exactly the row twice. A node's score is the maximum log-likelihood of its rows with one
leaf (up to a constant that is the same for every tree); a split's gain is the difference of
scores:

| criterion | statistics | score |
|---|---|---|
| Gini | class weights $n_c$, $W=\sum_c n_c$ | $\sum_c n_c^2 / W$ |
| entropy | class weights | $\sum_c n_c \log(n_c/W)$: the information gain, in nats |
| squared error | $W$, $S=\sum wy$ | $S^2/W$ |
| Poisson | $W$, $S$ | $S \log (S/W)$ |
| normal | $W$, $S$, $Q=\sum wy^2$ | $-\tfrac W2 \log(Q/W - S^2/W^2)$ |
| Newton | $W$, $G_j$, $H_j$ | $\tfrac12\sum_j G_j^2/H_j$: any family, near its optimum |

The last criterion serves any family: G and H are sums of first and second derivatives of
−log p in η at the node's own η, and the score is the gain of one Newton step.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int32, int64, types, uint8, uint64

from likely.core.compiled import inner, kernel

U = np.uint64
GINI, ENTROPY, SQUARED, POISSON, NORMAL, NEWTON = range(6)
MAX_DEPTH, MAX_LEAVES, MAX_FEATURES, BEST_FIRST = range(4)
CRITERION, N_CLASSES, N_STATS = range(4, 7)
MIN_LEAF, MIN_SPLIT, MIN_GAIN, FLOOR = range(4)
DEBRUIJN = U(0x03F79D71B4CB0A89)
BIT_POSITIONS = np.zeros(64, np.uint8)
"""The position of the lowest bit, by the top bits of its product with `DEBRUIJN`."""
for _i in range(64):
    BIT_POSITIONS[((0x03F79D71B4CB0A89 << _i) & (2**64 - 1)) >> 58] = _i


@inner
@no_type_check
def next_random(state):
    """The next of a sequence of 64 random bits (splitmix)."""
    state[0] += U(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@inner
@no_type_check
def score(z, criterion, units, floor):  # noqa: C901
    """The score of sums z of statistics, whose units are `units`."""
    if criterion <= ENTROPY:
        total, found = 0.0, 0.0
        for c in range(len(z)):
            total += z[c]
        if total <= 0.0:
            return 0.0
        for c in range(len(z)):
            n = float(z[c])
            if criterion == GINI:
                found += n * n
            elif n > 0:
                found += n * np.log(n / total)
        return (found / total if criterion == GINI else found) * units[0]
    w = z[0] * units[0]
    if w <= 0.0:
        return 0.0
    if criterion == SQUARED:
        s = z[1] * units[1]
        return s * s / w
    if criterion == POISSON:
        s = z[1] * units[1]
        return s * np.log(s / w) if s > 0 else 0.0
    if criterion == NORMAL:
        mean = z[1] * units[1] / w
        variance = z[2] * units[2] / w - mean * mean
        return -0.5 * w * np.log(max(variance, floor))
    found, k = 0.0, (len(z) - 1) // 2
    for j in range(k):
        g, h = z[1 + j] * units[1 + j], z[1 + k + j] * units[1 + k + j]
        if h > 0:
            found += 0.5 * g * g / h
    return found


@inner
@no_type_check
def add_rows(codes, rows, own, classes, feature, hist, seen):  # noqa: PLR0917
    """Add rows to the histogram of one feature; `seen` marks the bins that occur.

    `own` has the statistics of the rows in their order, or their class and weight.
    """
    column, byte = codes[feature >> 2], feature & 3
    m = hist.shape[1]
    if classes:
        for i in range(len(rows)):
            code = column[rows[i], byte]
            hist[code, own[i, 0]] += own[i, 1]
            seen[code >> 6] |= U(1) << U(code & 63)
    elif m == 2:
        for i in range(len(rows)):
            code = column[rows[i], byte]
            hist[code, 0] += own[i, 0]
            hist[code, 1] += own[i, 1]
            seen[code >> 6] |= U(1) << U(code & 63)
    else:
        for i in range(len(rows)):
            code = column[rows[i], byte]
            for j in range(m):
                hist[code, j] += own[i, j]
            seen[code >> 6] |= U(1) << U(code & 63)


@inner
@no_type_check
def list_bins(seen, bins):
    """List the bins that occur, rising, and clear `seen`; returns how many."""
    found = 0
    for word in range(4):
        bits = seen[word]
        while bits:
            lowest = bits & (~bits + U(1))
            bins[found] = 64 * word + BIT_POSITIONS[(lowest * DEBRUIJN) >> U(58)]
            found += 1
            bits ^= lowest
        seen[word] = U(0)
    return found


@inner
@no_type_check
def order_categories(hist, bins, n_bins, n_classes, keys):  # noqa: C901
    """Sort the categories by their mean target (or the share of the largest class)."""
    main, m = 0, hist.shape[1]
    if n_classes:
        largest = int64(-1)
        for c in range(m):
            total = int64(0)
            for b in range(n_bins):
                total += hist[bins[b], c]
            if total > largest:
                main, largest = c, total
    for b in range(n_bins):
        z = hist[bins[b]]
        weight, top = 0.0, float(z[main])
        if n_classes:
            for c in range(m):
                weight += z[c]
        elif m <= 3:
            weight, top = float(z[0]), float(z[1])
        else:
            weight, top = float(z[1 + (m - 1) // 2]), float(z[1])
        keys[b] = top / weight if weight > 0 else 0.0
    for b in range(1, n_bins):  # insertion sort: there are few, and it is stable
        key, code, a = keys[b], bins[b], b - 1
        while a >= 0 and keys[a] > key:
            keys[a + 1], bins[a + 1] = keys[a], bins[a]
            a -= 1
        keys[a + 1], bins[a + 1] = key, code


@inner
@no_type_check
def weight_of(z, n_classes):
    """The total weight in sums of statistics."""
    if n_classes == 0:
        return z[0]
    total = int64(0)
    for c in range(len(z)):
        total += z[c]
    return total


@inner
@no_type_check
def scan(hist, bins, n_bins, total, whole, sets, missing_left, work):  # noqa: PLR0917
    """The best split of bins in this order: its gain and the last bin on the left."""
    left, right, units, criterion, n_classes, min_weight, floor = work
    m = len(total)
    left[:] = 0
    missing = bins[0] == 0 and not sets
    first = 1 if missing else 0
    if missing and missing_left:
        for j in range(m):
            left[j] += hist[0, j]
    best, last_left = -np.inf, -1
    for b in range(first, n_bins):
        last = b == n_bins - 1
        if last and (missing_left or not missing):
            break
        z = hist[bins[b]]
        for j in range(m):
            left[j] += z[j]
            right[j] = total[j] - left[j]
        if (
            weight_of(left, n_classes) < min_weight
            or weight_of(right, n_classes) < min_weight
        ):
            continue
        gain = score(left, criterion, units, floor) - whole
        gain += score(right, criterion, units, floor)
        if gain > best:
            best, last_left = gain, b
    return best, last_left


@inner
@no_type_check
def scan_pair(hist, bins, n_bins, total, whole, sets, missing_left, work):  # noqa: PLR0917
    """`scan` for two statistics: squared error, or Gini with two classes."""
    _, _, units, criterion, _, min_weight, _ = work
    t0, t1, a, b = total[0], total[1], int64(0), int64(0)
    missing = bins[0] == 0 and not sets
    if missing and missing_left:
        a, b = hist[0, 0], hist[0, 1]
    gini = criterion == GINI
    stop = n_bins if missing and not missing_left else n_bins - 1
    best, last_left = -np.inf, -1
    for i in range(1 if missing else 0, stop):
        k = bins[i]
        a += hist[k, 0]
        b += hist[k, 1]
        w1 = a + b if gini else a
        w2 = (t0 + t1 if gini else t0) - w1
        if w1 < min_weight or w2 < min_weight:
            continue
        p, q, x, y = float(b), float(t1 - b), float(w1), float(w2)
        if gini:
            p0, q0 = float(a), float(t0 - a)
            gain = (p * p + p0 * p0) / x + (q * q + q0 * q0) / y
        else:
            gain = p * p / x + q * q / y
        if gain > best:
            best, last_left = gain, i
    unit = units[0] if gini else units[1] * units[1] / units[0]
    return best * unit - whole, last_left


@kernel(
    types.Tuple(
        (uint64[::1], int32[::1], uint64[:, ::1], float64[:, ::1], int64[:, ::1])
    )(
        uint8[:, :, ::1],
        int32[::1],
        int64[:, ::1],
        int32[::1],
        boolean[::1],
        int64[::1],
        float64[::1],
        float64[::1],
        uint64,
    )
)
@no_type_check
def grow_tree(  # noqa: PLR0915, PLR0917, C901
    codes, rows, stats, label, categorical, limits, minima, units, seed
):
    """Grow a tree; `rows` end up in the order of the leaves.

    Returns the nodes, the index of each node's set, the sets, for each node (gain, weight,
    first row, last row, score), and its sums of all statistics.
    """
    d, n_classes = len(categorical), limits[N_CLASSES]
    m, n_sums = limits[N_STATS], n_classes if n_classes else stats.shape[1]
    criterion, n = limits[CRITERION], len(rows)
    max_nodes = max(2 * min(n, limits[MAX_LEAVES]) - 1, 1)
    nodes, set_at = np.zeros(max_nodes, np.uint64), np.full(max_nodes, -1, np.int32)
    sets = np.zeros((4, 4), np.uint64)
    about, depth = np.zeros((max_nodes, 5)), np.zeros(max_nodes, np.int32)
    hist, seen = np.zeros((256, m), np.int64), np.zeros(4, np.uint64)
    bins, keys = np.zeros(256, np.int64), np.zeros(256)
    left, right = np.zeros(m, np.int64), np.zeros(m, np.int64)
    floor, min_leaf = minima[FLOOR], int64(max(minima[MIN_LEAF] / units[0], 1.0))
    work = left, right, units, criterion, n_classes, min_leaf, floor
    features, state = np.arange(d), np.full(1, seed)
    spare = np.empty(n, np.int32)
    own = np.empty((n, 2 if n_classes else n_sums), np.int64)
    pair = m == 2 and criterion in (GINI, SQUARED)
    frontier, waiting = np.zeros(min(max_nodes, 4096), np.int64), 0
    ready = np.zeros((min(max_nodes, 4096), 4))
    members = np.zeros((min(max_nodes, 4096), 4), np.uint64)
    n_nodes, n_leaves, n_sets = 1, 1, 0
    sums = np.zeros((max_nodes, n_sums), np.int64)
    pending = np.zeros(2, np.int64)
    n_pending, about[0, 3] = 1, n
    best_bins = np.zeros(256, np.int64)
    while True:
        # 1. find the best split of the nodes that were just made
        for p in range(n_pending):
            node = pending[p]
            start, stop = int64(about[node, 2]), int64(about[node, 3])
            if n_classes:
                for i in range(start, stop):
                    row = rows[i]
                    own[i, 0], own[i, 1] = label[row], stats[row, 0]
                    sums[node, label[row]] += stats[row, 0]
            else:
                for i in range(start, stop):
                    for j in range(n_sums):
                        own[i, j] = stats[rows[i], j]
                        sums[node, j] += own[i, j]
            total = sums[node, :m]
            whole = score(total, criterion, units, floor)
            weight = weight_of(total, n_classes) * units[0]
            about[node, 1], about[node, 4] = weight, whole
            if (
                depth[node] >= limits[MAX_DEPTH]
                or stop - start < 2
                or weight < minima[MIN_SPLIT]
                or weight < 2 * minima[MIN_LEAF]
            ):
                continue
            if n_classes:
                pure = False
                for c in range(m):
                    pure |= weight_of(total, n_classes) == total[c]
                if pure:
                    continue
            best, best_feature, best_low, best_n = minima[MIN_GAIN], -1, 0, 0
            if n_classes and best == 0.0:
                # a split without gain may allow one later (exclusive or)
                best = -np.inf
            n_tried, best_cut = 0, 0
            for q in range(d):
                if n_tried >= limits[MAX_FEATURES]:
                    break
                if limits[MAX_FEATURES] < d:
                    other = q + int64(next_random(state) % U(d - q))
                    features[q], features[other] = features[other], features[q]
                f = features[q]
                part, statistics = rows[start:stop], own[start:stop]
                add_rows(codes, part, statistics, n_classes > 0, f, hist, seen)
                n_bins = list_bins(seen, bins)
                if n_bins > 1:
                    n_tried += 1
                    if categorical[f]:
                        order_categories(hist, bins, n_bins, n_classes, keys)
                    for direction in range(2):
                        if direction and (bins[0] != 0 or categorical[f]):
                            break
                        found = (hist, bins, n_bins, total, whole)
                        options = (categorical[f], direction == 1, work)
                        if pair:
                            gain, last_left = scan_pair(*found, *options)
                        else:
                            gain, last_left = scan(*found, *options)
                        if gain > best:
                            best, best_feature, best_n = gain, f, last_left + 1
                            best_low = 2 if categorical[f] else 1 - direction
                            if not categorical[f] and bins[0] != 0:
                                best_low = 3  # none is missing: decided below
                            best_bins[:n_bins] = bins[:n_bins]
                            after = bins[best_n] if best_n < n_bins else 510
                            best_cut = min((bins[last_left] + after) // 2, 255)
                for b in range(n_bins):
                    hist[bins[b], :] = 0
            if best_feature < 0:
                continue
            if waiting == len(frontier):
                frontier = np.concatenate((frontier, np.zeros_like(frontier)))
                ready = np.concatenate((ready, np.zeros_like(ready)))
                members = np.concatenate((members, np.zeros_like(members)))
            frontier[waiting] = node
            ready[waiting, 0], ready[waiting, 1] = best, best_feature
            ready[waiting, 2] = best_low
            ready[waiting, 3] = best_cut  # half-way across empty bins
            members[waiting, :] = U(0)
            if best_low == 2:
                for b in range(best_n):
                    members[waiting, best_bins[b] >> 6] |= U(1) << U(best_bins[b] & 63)
            waiting += 1
        # 2. take the next node to split
        if waiting == 0 or n_leaves >= limits[MAX_LEAVES]:
            break
        pick = waiting - 1
        if limits[BEST_FIRST]:
            for i in range(waiting):
                if ready[i, 0] > ready[pick, 0]:
                    pick = i
        node, gain, f = frontier[pick], ready[pick, 0], int64(ready[pick, 1])
        low, cut = int64(ready[pick, 2]), int64(ready[pick, 3])
        chosen = members[pick].copy()
        waiting -= 1
        frontier[pick] = frontier[waiting]
        ready[pick], members[pick] = ready[waiting], members[waiting]
        # 3. partition its rows
        start, stop = int64(about[node, 2]), int64(about[node, 3])
        column, byte = codes[f >> 2], f & 3
        a, b, heavier = start, 0, 0.0
        test_low = 1 if low == 3 else low
        for i in range(start, stop):
            row = rows[i]
            code = U(column[row, byte])
            if low == 2:
                goes_left = (chosen[code >> U(6)] >> (code & U(63))) & U(1) != U(0)
            else:
                goes_left = ((code - U(test_low)) & U(255)) <= U(cut - test_low)
            if goes_left:
                rows[a] = row
                a += 1
                heavier += stats[row, 0]
            else:
                spare[b] = row
                b += 1
                heavier -= stats[row, 0]
        rows[a:stop] = spare[:b]
        if low == 3:
            low = 0 if heavier >= 0 else 1
        if low == 2:
            if n_sets == len(sets):
                sets = np.concatenate((sets, np.zeros_like(sets)))
            sets[n_sets] = chosen
            set_at[node] = n_sets
            n_sets += 1
        width = 0 if low == 2 else cut - low
        word = (U(n_nodes) << U(32)) | (U(f) << U(16)) | (U(low) << U(8))
        nodes[node] = word | U(width & 255)
        about[node, 0] = gain
        for child in range(2):
            depth[n_nodes + child] = depth[node] + 1
            about[n_nodes + child, 2] = start if child == 0 else a
            about[n_nodes + child, 3] = a if child == 0 else stop
            pending[child] = n_nodes + child
        n_nodes += 2
        n_leaves += 1
        n_pending = 2
    return (
        nodes[:n_nodes].copy(),
        set_at[:n_nodes].copy(),
        sets[:n_sets].copy(),
        about[:n_nodes].copy(),
        sums[:n_nodes].copy(),
    )
