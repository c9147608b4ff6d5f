r"""Growing a tree of gradients, the leaf of largest gain first: the engine of boosting.

A leaf that moves η by v changes Σ −log p by about $Gv + \tfrac12 (H+λ) v^2$ with the sums G
and H of first and second derivatives of its rows. The best v is $-G/(H+λ)$, which gains
$\tfrac12 G^2/(H+λ)$; a split gains the sum of its children's less its own.

G and (H, W) are sums of whole numbers (`fixed_point`; H and the weight W share a word, H in
the high bits), so the histogram of the larger child is exactly that of the parent less
that of the smaller one, and no result depends on the number of threads. Threads take tasks
from a counter that they meet at: a block of four features, whose histograms are filled and
best splits found; or a stretch of the rows of a leaf that is split.

Where all rows weigh 1 and have the same second derivative (squared error), H and W are
both the number of rows. Then one word holds G and that number, which halves the work.

Under a monotone constraint the values of the two sides must be in order, and all later
leaves stay on their side of the middle.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int8, int32, int64, types, uint32, uint64, void

from likely.core.compiled import inner, kernel
from likely.models.trees.atomics import (
    atomic_add,
    atomic_load,
    atomic_swap,
    give_way,
)
from likely.models.trees.cuts import (
    BLOCK,
    L2,
    MIN_GAIN,
    MIN_LEAF,
    UNIT_G,
    UNIT_H,
    UNIT_W,
    U,
    best_cut,
    fill,
    fill_even,
    order,
    value_of,
)

MAX_LEAVES, MAX_DEPTH, BITS, PARALLEL, ROOT_ALL = range(5)
UNTAKEN, DONE, QUIT, START, STOP, SMALL, LARGE, GATHERED = range(0, 64, 8)  # apart
# beside SMALL and LARGE: where their histograms are
PHASE, FEATURE, LOW, WIDTH, GATHER, CHOSEN = 64, 65, 66, 67, 68, 69
COUNTS, CONTROL = 80, 128  # of the stretches: rows that go left
BLOCKS, PART, MOVE = range(3)  # the phases
STRETCHES, LONG = 16, 8192  # in how many, and from how many rows on, leaves are split
SPINS, WORTH = 64, 24_576

JOB = types.Tuple(
    (
        uint32[:, ::1],
        int32[::1],
        int64[:, ::1],
        int64[:, ::1],
        int64[:, :, ::1],
        boolean[::1],
        boolean[::1],
        int64[::1],
        boolean[::1],
        int8[::1],
        int64[:, ::1],
        float64[:, ::1],
        float64[::1],
        float64[:, ::1],
        int32[:, ::1],
        boolean[:, ::1],
        int64[::1],
        int32[:, ::1],
    )
)
"""What threads share: see `boosted.Booster.grow`."""


@inner
@no_type_check
def do_block(b, job):
    """Fill the histograms of a block for one leaf, subtract, search both leaves."""
    codes, rows, gh, ordered, hists, searched, active, n_bins = job[:8]
    categorical, signs, totals, bounds, numbers, gains, places, directions = job[8:16]
    control = job[16]
    d, small, large = len(n_bins), control[SMALL], control[LARGE]
    own = rows[control[START] : control[STOP]]
    filled, other = hists[control[SMALL + 1], b], hists[control[LARGE + 1], b]
    if gh.shape[1] == 1:
        bits = int64(numbers[8])
        if control[GATHERED]:
            fill_even(codes[b], own, ordered, True, filled, bits)
        else:
            fill_even(codes[b], own, gh, False, filled, bits)
    elif control[GATHERED]:
        fill(codes[b], own, ordered, True, filled)
    else:
        fill(codes[b], own, gh, False, filled)
    if large >= 0:
        for i in range(BLOCK):
            other[i] -= filled[i]
    for side in range(2):
        leaf = small if side == 0 else large
        if leaf < 0 or not searched[leaf]:
            continue
        hist = filled if side == 0 else other
        for f in range(4 * b, min(4 * b + 4, d)):
            if not active[f]:
                gains[leaf, f] = -np.inf
                continue
            at = 512 * (f - 4 * b)
            gains[leaf, f], places[leaf, f], directions[leaf, f] = best_cut(
                hist[at : at + 512],
                n_bins[f],
                categorical[f],
                signs[f],
                totals[leaf],
                bounds[leaf],
                numbers,
            )


@inner
@no_type_check
def goes_left(code, low, width, chosen):
    """Whether a row with this code is on the left: 1 or 0."""
    if low == 2:
        return int64((chosen[code >> U(6)] >> (code & U(63))) & U(1))
    return int64(((code - U(low)) & U(255)) <= U(width))


@inner
@no_type_check
def stretch(c, control):
    """The rows of stretch c of the leaf."""
    start, n = control[START], control[STOP] - control[START]
    return start + n * c // STRETCHES, start + n * (c + 1) // STRETCHES


@inner
@no_type_check
def part_stretch(c, job):
    """Rows of a stretch that go left, and those that go right, each to a place apart."""
    codes, rows, control, spare = job[0], job[1], job[16], job[17]
    first, last = stretch(c, control)
    f, low, width = control[FEATURE], control[LOW], control[WIDTH]
    own, shift = codes[f >> 2], U(8 * (f & 3))
    chosen = np.empty(4, np.uint64)
    for i in range(4):
        chosen[i] = U(control[CHOSEN + i])
    a, b = first, first
    for i in range(first, last):
        row = rows[i]
        spare[0, a] = row
        spare[1, b] = row
        left = goes_left((U(own[row]) >> shift) & U(255), low, width, chosen)
        a += left
        b += 1 - left
    control[COUNTS + c] = a - first


@inner
@no_type_check
def move_stretch(c, job):
    """Both to where they belong; the derivatives of the smaller child in its order."""
    rows, gh, ordered, control, spare = job[1], job[2], job[3], job[16], job[17]
    first, last = stretch(c, control)
    left, before, middle = control[COUNTS + c], int64(0), control[START]
    for i in range(STRETCHES):
        middle += control[COUNTS + i]
        if i < c:
            before += control[COUNTS + i]
    to_left, to_right = control[START] + before, middle + first - control[START]
    to_right -= before
    for i in range(left):
        rows[to_left + i] = spare[0, first + i]
    for i in range(last - first - left):
        rows[to_right + i] = spare[1, first + i]
    if control[GATHER] == 1:
        gather(rows, gh, ordered, to_left, to_left + left, control[START])
    elif control[GATHER] == 2:
        gather(rows, gh, ordered, to_right, to_right + last - first - left, middle)


@inner
@no_type_check
def gather(rows, gh, ordered, first, last, origin):  # noqa: PLR0917
    """The derivatives of some rows, in their order."""
    if gh.shape[1] == 1:
        for i in range(first, last):
            ordered[i - origin, 0] = gh[rows[i], 0]
    else:
        for i in range(first, last):
            row = rows[i]
            ordered[i - origin, 0], ordered[i - origin, 1] = gh[row, 0], gh[row, 1]


@inner
@no_type_check
def take_tasks(job):
    """Do tasks that nobody has taken, until there are none.

    What a task is about is read after it was taken, and cannot change before it is done.
    """
    control = job[16]
    while atomic_load(control, UNTAKEN) > 0:
        c = atomic_add(control, UNTAKEN, -1) - 1
        if c >= 0:
            phase = control[PHASE]
            if phase == BLOCKS:
                do_block(c, job)
            elif phase == PART:
                part_stretch(c, job)
            else:
                move_stretch(c, job)
            atomic_add(control, DONE, 1)


@kernel(void(JOB))
@no_type_check
def help_grow(job):
    """What the other threads do: take tasks until the tree is done."""
    control = job[16]
    while atomic_load(control, QUIT) == 0:
        take_tasks(job)
        for _ in range(SPINS):
            if atomic_load(control, UNTAKEN) > 0:
                break
        else:
            give_way()


@inner
@no_type_check
def do_tasks(job, phase, tasks):
    """All tasks of a phase, by this thread and those that help."""
    control = job[16]
    control[PHASE] = phase
    atomic_swap(control, DONE, 0)
    atomic_swap(control, UNTAKEN, tasks)
    take_tasks(job)
    while atomic_load(control, DONE) < tasks:
        for _ in range(SPINS):
            if atomic_load(control, DONE) == tasks:
                break
        else:
            give_way()


@inner
@no_type_check
def part_together(job, start, stop, test, last):  # noqa: PLR0917
    """`part` by all threads; unless it is the last, the smaller child's derivatives too."""
    control = job[16]
    low, width, f, chosen = test
    control[START], control[STOP], control[FEATURE] = start, stop, f
    control[LOW], control[WIDTH] = low, width
    for i in range(4):
        control[CHOSEN + i] = int64(chosen[i])
    do_tasks(job, PART, STRETCHES)
    middle = start
    for c in range(STRETCHES):
        middle += control[COUNTS + c]
    control[GATHER] = 0 if last else (1 if middle - start <= stop - middle else 2)
    do_tasks(job, MOVE, STRETCHES)
    return middle


@inner
@no_type_check
def part(codes, rows, start, stop, spare, test):  # noqa: PLR0917
    """Rows that go left first, in their order; where the others begin."""
    low, width, f, chosen = test
    a, b, shift = start, 0, U(8 * (f & 3))
    for i in range(start, stop):
        row = rows[i]
        left = goes_left((U(codes[row]) >> shift) & U(255), low, width, chosen)
        rows[a] = row
        spare[b] = row
        a += left
        b += 1 - left
    for i in range(b):
        rows[a + i] = spare[i]
    return a


@kernel(
    types.Tuple(
        (
            uint64[::1],
            int32[::1],
            uint64[:, ::1],
            float64[:, ::1],
            float64[::1],
            float64[::1],
            int64[:, ::1],
        )
    )(JOB, int64[::1])
)
@no_type_check
def grow_leafwise(job, limits):  # noqa: PLR0915, C901
    """Grow a tree; `rows` are left in the order of the leaves.

    Returns nodes, the place of each node's set, the sets, values, weights, gains, and
    for each leaf its node and its first and last row.
    """
    codes, rows, gh, ordered, hists, searched, _, n_bins = job[:8]
    categorical, signs, totals, bounds, numbers, gains, places, directions = job[8:16]
    control, spare = job[16], job[17][0]
    most, d, n = int64(limits[MAX_LEAVES]), len(n_bins), len(rows)
    n_blocks, bits = len(codes), int64(limits[BITS])
    shift, mask = U(bits), (int64(1) << bits) - int64(1)
    nodes = np.zeros(2 * most - 1, np.uint64)
    set_at, sets = np.full(2 * most - 1, -1, np.int32), np.zeros((most, 4), np.uint64)
    value, weight = np.zeros((2 * most - 1, 1)), np.zeros(2 * most - 1)
    gain_of, n_sets = np.zeros(2 * most - 1), 0
    # for each leaf: node, first and last row, depth
    leaves = np.zeros((most, 4), np.int64)
    best, best_feature = np.full(most, -np.inf), np.zeros(most, np.int64)
    bins, keys = np.empty(256, np.int64), np.empty(256)
    chosen = np.zeros(4, np.uint64)
    slot = np.zeros(most, np.int64)  # where the histograms of a leaf are
    even, ready = gh.shape[1] == 1, False
    leaves[0, 2] = n
    totals[0, :] = 0
    bounds[:, 0], bounds[:, 1] = -np.inf, np.inf
    for i in range(n):
        totals[0, 0] += gh[rows[i], 0]
        if not even:
            totals[0, 1] += gh[rows[i], 1]
    if even:
        totals[0, 1] = (totals[0, 0] & mask) * ((int64(1) << bits) + int64(1))
        totals[0, 0] = totals[0, 0] >> bits
    searched[0] = limits[MAX_DEPTH] > 0 and most > 1
    n_leaves, n_nodes, small, large = 1, 1, 0, -1
    while True:
        if searched[small] or (large >= 0 and searched[large]):
            start, stop = leaves[small, 1], leaves[small, 2]
            gathered = limits[ROOT_ALL] == 0 or large >= 0
            if gathered and not ready:
                gather(rows, gh, ordered, start, stop, start)
            control[START], control[STOP], control[GATHERED] = start, stop, gathered
            control[SMALL], control[LARGE] = small, large
            control[SMALL + 1], control[LARGE + 1] = slot[small], slot[max(large, 0)]
            worth = (stop - start + 1024) * n_blocks > WORTH
            if limits[PARALLEL] > 1 and worth:
                do_tasks(job, BLOCKS, n_blocks)
            else:
                for b in range(n_blocks):
                    do_block(b, job)
        for side in range(2):
            leaf = small if side == 0 else large
            if leaf < 0:
                continue
            best[leaf] = -np.inf
            if searched[leaf]:
                for f in range(d):
                    if gains[leaf, f] > best[leaf]:
                        best[leaf], best_feature[leaf] = gains[leaf, f], f
        if n_leaves == most:
            break
        leaf = 0
        for i in range(1, n_leaves):
            if best[i] > best[leaf]:
                leaf = i
        if not best[leaf] > numbers[MIN_GAIN]:
            break
        # split it: the left child keeps the place of the leaf, the right one is new
        f, node, new = best_feature[leaf], leaves[leaf, 0], n_leaves
        start, stop, depth = leaves[leaf, 1], leaves[leaf, 2], leaves[leaf, 3]
        hist = hists[slot[leaf], f >> 2, 512 * (f & 3) : 512 * (f & 3) + 512]
        cut, low = int64(places[leaf, f]), 0
        g, hw = int64(0), int64(0)
        if categorical[f]:
            low = 2
            order(hist, n_bins[f], numbers, bins, keys)
            chosen[:] = U(0)
            for s in range(cut):
                b = bins[s]
                chosen[b >> 6] |= U(1) << U(b & 63)
                g += hist[2 * b]
                hw += hist[2 * b + 1]
            sets[n_sets] = chosen
            set_at[node] = n_sets
            n_sets += 1
        else:
            for b in range(1, cut + 1):
                g += hist[2 * b]
                hw += hist[2 * b + 1]
            after = cut + 1
            while after <= n_bins[f] and hist[2 * after + 1] == 0:
                after += 1
            # half-way over bins that nobody is in
            cut = 255 if after > n_bins[f] else (cut + after) // 2
            if hist[1] == 0:  # nothing is missing here: later, go with the heavier side
                low = 0 if 2 * (hw & mask) >= (totals[leaf, 1] & mask) else 1
            elif directions[leaf, f]:
                g += hist[0]
                hw += hist[1]
            else:
                low = 1
        width = 0 if low == 2 else cut - low
        test, ready = (low, width, f, chosen), False
        if limits[PARALLEL] > 1 and stop - start > LONG:
            middle = part_together(job, start, stop, test, n_leaves + 1 == most)
            ready = n_leaves + 1 < most
        else:
            middle = part(codes[f >> 2], rows, start, stop, spare, test)
        word = (U(n_nodes) << U(32)) | (U(f) << U(16)) | (U(low) << U(8))
        nodes[node] = word | U(width & 255)
        gain_of[node] = best[leaf]
        weight[node] = (totals[leaf, 1] & mask) * numbers[UNIT_W]
        totals[new, 0], totals[new, 1] = totals[leaf, 0] - g, totals[leaf, 1] - hw
        totals[leaf, 0], totals[leaf, 1] = g, hw
        bounds[new] = bounds[leaf]
        if signs[f] != 0:
            h = (hw >> shift) * numbers[UNIT_H] + numbers[L2]
            v1 = value_of(g * numbers[UNIT_G], h, bounds[leaf])
            h = (totals[new, 1] >> shift) * numbers[UNIT_H] + numbers[L2]
            v2 = value_of(totals[new, 0] * numbers[UNIT_G], h, bounds[leaf])
            border = 0.5 * (v1 + v2)
            if signs[f] > 0:
                bounds[leaf, 1] = min(bounds[leaf, 1], border)
                bounds[new, 0] = max(bounds[new, 0], border)
            else:
                bounds[leaf, 0] = max(bounds[leaf, 0], border)
                bounds[new, 1] = min(bounds[new, 1], border)
        leaves[new, 0], leaves[new, 1], leaves[new, 2] = n_nodes + 1, middle, stop
        leaves[leaf, 0], leaves[leaf, 2] = n_nodes, middle
        leaves[leaf, 3] = leaves[new, 3] = depth + 1
        n_nodes += 2
        n_leaves += 1
        for i in (leaf, new):
            enough = (totals[i, 1] & mask) * numbers[UNIT_W] >= 2 * numbers[MIN_LEAF]
            enough = enough and leaves[i, 2] - leaves[i, 1] > 1
            searched[i] = enough and depth + 1 < limits[MAX_DEPTH] and n_leaves < most
        # the larger child takes the histograms of the parent
        if middle - start <= stop - middle:
            small, large = leaf, new
        else:
            small, large = new, leaf
        slot[large] = slot[leaf]
        slot[small] = new
    atomic_swap(control, QUIT, 1)
    for leaf in range(n_leaves):
        node = leaves[leaf, 0]
        h = (totals[leaf, 1] >> shift) * numbers[UNIT_H] + numbers[L2]
        value[node, 0] = value_of(totals[leaf, 0] * numbers[UNIT_G], h, bounds[leaf])
        weight[node] = (totals[leaf, 1] & mask) * numbers[UNIT_W]
    return (
        nodes[:n_nodes].copy(),
        set_at[:n_nodes].copy(),
        sets[:n_sets].copy(),
        value[:n_nodes].copy(),
        weight[:n_nodes].copy(),
        gain_of[:n_nodes].copy(),
        leaves[:n_leaves, :3].copy(),
    )
