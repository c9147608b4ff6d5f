r"""Growing a gradient tree leaf by leaf, the largest gain first, for boosting.

A leaf that changes η by v changes Σ −log p by about $Gv + \tfrac12 (H+λ) v^2$ with the sums G
and H of first and second derivatives of its rows. The best v is $-G/(H+λ)$, which gains
$\tfrac12 G^2/(H+λ)$; a split gains that of its children minus its own.

G and (H, W) are sums of integers (`fixed_point`; H and the weight W share a word, H in the
high bits), so the histogram of the larger child is exactly that of the parent minus that of
the smaller one, and no result depends on the number of threads. Threads take tasks from an
atomic counter: a block of four features, whose histograms are filled and best splits found;
or a block of the rows of a leaf that is split.

Where all rows have weight 1 and the same second derivative (squared error), H and W are
both the number of rows. Then one word holds G and that number, which halves the work.

Under a monotone constraint the values of the two children must be in order, and all later
leaves stay on their side of the mean of the two.
"""

from typing import no_type_check

import numpy as np
from numba import boolean, float64, int8, int32, int64, types, uint32, uint64

from likely.core.compiled import inner, kernel
from likely.models.trees.atomics import atomic_add, atomic_load, atomic_swap, give_way
from likely.models.trees.cuts import (
    BLOCK_SIZE,
    L2,
    MIN_GAIN,
    MIN_LEAF,
    UNIT_G,
    UNIT_H,
    UNIT_W,
    U,
    best_cut,
    fill,
    fill_with_count,
    sort_categories,
    value_of,
)

MAX_LEAVES, MAX_DEPTH, BITS, PARALLEL, ROOT_ALL = range(5)
# entries of `control`; the first ones in cache lines of their own
TASKS_LEFT, TASKS_DONE, FINISHED, START, STOP = range(0, 40, 8)
SMALL_LEAF, LARGE_LEAF, IN_ORDER = range(40, 64, 8)
# after SMALL_LEAF and LARGE_LEAF: the indices of their histograms
TASK_KIND, FEATURE, LOW, WIDTH, COPIED_SIDE, CATEGORIES = 64, 65, 66, 67, 68, 69
LEFT_COUNTS, CONTROL_SIZE = 80, 128  # for each block of rows: how many go left
HISTOGRAMS, PARTITION, MOVE = range(3)  # the kinds of tasks
ROW_BLOCKS, MIN_PARALLEL_ROWS = 16, 8193  # for the partition of the rows of a leaf
MAX_SPINS, MIN_PARALLEL_WORK = 64, 24_577

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
"""The arrays that threads share: see `boosted.Booster.grow`."""
TREE = types.Tuple(
    (
        uint64[::1],
        int32[::1],
        uint64[:, ::1],
        float64[:, ::1],
        float64[::1],
        float64[::1],
        int64[:, ::1],
        float64[::1],
        int64[:, ::1],
    )
)
"""The arrays that a tree is written to, and room for the gain and the indices of leaves."""


@inner
@no_type_check
def fill_and_search(b, job):
    """Fill a block of histograms of one leaf, subtract, and search both leaves."""
    codes, rows, gh, ordered, hists, searched, active, n_bins = job[:8]
    categorical, signs, totals, bounds, numbers, gains, cuts, directions = job[8:16]
    control = job[16]
    d, small, large = len(n_bins), control[SMALL_LEAF], control[LARGE_LEAF]
    own = rows[control[START] : control[STOP]]
    filled, other = hists[control[SMALL_LEAF + 1], b], hists[control[LARGE_LEAF + 1], b]
    if gh.shape[1] == 1:
        bits = int64(numbers[8])
        if control[IN_ORDER]:
            fill_with_count(codes[b], own, ordered, True, filled, bits)
        else:
            fill_with_count(codes[b], own, gh, False, filled, bits)
    elif control[IN_ORDER]:
        fill(codes[b], own, ordered, True, filled)
    else:
        fill(codes[b], own, gh, False, filled)
    if large >= 0:
        for i in range(BLOCK_SIZE):
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
            gains[leaf, f], cuts[leaf, f], directions[leaf, f] = best_cut(
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
    """Whether a row with this code goes left: 1 or 0."""
    if low == 2:
        return int64((chosen[code >> U(6)] >> (code & U(63))) & U(1))
    return int64(((code - U(low)) & U(255)) <= U(width))


@inner
@no_type_check
def rows_of_block(c, control):
    """The first and last row of block c of the leaf."""
    start, n = control[START], control[STOP] - control[START]
    return start + n * c // ROW_BLOCKS, start + n * (c + 1) // ROW_BLOCKS


@inner
@no_type_check
def partition_block(c, job):
    """Split a block of rows into those that go left and right, in separate arrays."""
    codes, rows, control, spare = job[0], job[1], job[16], job[17]
    first, last = rows_of_block(c, control)
    f, low, width = control[FEATURE], control[LOW], control[WIDTH]
    own, shift = codes[f >> 2], U(8 * (f & 3))
    chosen = np.empty(4, np.uint64)
    for i in range(4):
        chosen[i] = U(control[CATEGORIES + i])
    a, b = first, first
    for i in range(first, last):
        row = rows[i]
        spare[0, a] = row
        spare[1, b] = row
        left = goes_left((U(own[row]) >> shift) & U(255), low, width, chosen)
        a += left
        b += 1 - left
    control[LEFT_COUNTS + c] = a - first


@inner
@no_type_check
def move_block(c, job):
    """Move the rows of a block to their children; copy derivatives of the smaller one."""
    rows, gh, ordered, control, spare = job[1], job[2], job[3], job[16], job[17]
    first, last = rows_of_block(c, control)
    left, before, middle = control[LEFT_COUNTS + c], int64(0), control[START]
    for i in range(ROW_BLOCKS):
        middle += control[LEFT_COUNTS + i]
        if i < c:
            before += control[LEFT_COUNTS + i]
    to_left, to_right = control[START] + before, middle + first - control[START]
    to_right -= before
    for i in range(left):
        rows[to_left + i] = spare[0, first + i]
    for i in range(last - first - left):
        rows[to_right + i] = spare[1, first + i]
    if control[COPIED_SIDE] == 1:
        copy_in_order(rows, gh, ordered, to_left, to_left + left, control[START])
    elif control[COPIED_SIDE] == 2:
        end = to_right + last - first - left
        copy_in_order(rows, gh, ordered, to_right, end, middle)


@inner
@no_type_check
def copy_in_order(rows, gh, ordered, first, last, origin):  # noqa: PLR0917
    """Copy the derivatives of some rows, in their order."""
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
    """Do tasks that no other thread has taken, until there are none.

    The data of a task are read after it was taken, and do not change before it is done.
    """
    control = job[16]
    while atomic_load(control, TASKS_LEFT) > 0:
        c = atomic_add(control, TASKS_LEFT, -1) - 1
        if c >= 0:
            kind = control[TASK_KIND]
            if kind == HISTOGRAMS:
                fill_and_search(c, job)
            elif kind == PARTITION:
                partition_block(c, job)
            else:
                move_block(c, job)
            atomic_add(control, TASKS_DONE, 1)


@inner
@no_type_check
def do_tasks(job, tasks):
    """Do all tasks of a kind, in this thread and those that help; or help, where 0.

    One function for both: each has to be compiled.
    """
    control = job[16]
    if tasks > 0:
        atomic_swap(control, TASKS_DONE, 0)
        atomic_swap(control, TASKS_LEFT, tasks)
    while True:
        take_tasks(job)
        if tasks > 0 and atomic_load(control, TASKS_DONE) >= tasks:
            break
        if tasks == 0 and atomic_load(control, FINISHED) != 0:
            break
        spins = 0
        while spins < MAX_SPINS and atomic_load(control, TASKS_LEFT) <= 0:
            spins += 1
            if tasks > 0 and atomic_load(control, TASKS_DONE) >= tasks:
                break
        if spins == MAX_SPINS:
            give_way()


@inner
@no_type_check
def partition_parallel(job, start, stop, test, last):  # noqa: PLR0917
    """`partition` by all threads; copies the smaller child's derivatives unless it is last."""
    control = job[16]
    low, width, f, chosen = test
    control[START], control[STOP], control[FEATURE] = start, stop, f
    control[LOW], control[WIDTH] = low, width
    for i in range(4):
        control[CATEGORIES + i] = int64(chosen[i])
    control[TASK_KIND] = PARTITION
    do_tasks(job, int64(ROW_BLOCKS))
    middle = start
    for c in range(ROW_BLOCKS):
        middle += control[LEFT_COUNTS + c]
    control[COPIED_SIDE] = 0 if last else (1 if middle - start <= stop - middle else 2)
    control[TASK_KIND] = MOVE
    do_tasks(job, int64(ROW_BLOCKS))
    return middle


@inner
@no_type_check
def partition(codes, rows, start, stop, spare, test):  # noqa: PLR0917
    """Reorder rows so that those that go left come first; returns where the others begin."""
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


@inner
@no_type_check
def leaf_value(total, bounds, numbers, shift):
    """The value of a leaf with these sums of derivatives."""
    H = (total[1] >> shift) * numbers[UNIT_H] + numbers[L2]
    return value_of(total[0] * numbers[UNIT_G], H, bounds)


@kernel(types.UniTuple(int64, 3)(JOB, TREE, int64[::1]))
@no_type_check
def grow_leafwise(job, tree, limits):  # noqa: PLR0915, C901
    """Grow a tree into its arrays; `rows` end up in the order of the leaves.

    Returns the numbers of nodes, of sets and of leaves. Where the number of threads is 0 it
    helps another one instead, taking tasks until the tree is done.
    """
    if limits[PARALLEL] == 0:
        do_tasks(job, int64(0))
        return 0, 0, 0
    codes, rows, gh, ordered, hists, searched, _, n_bins = job[:8]
    categorical, signs, totals, bounds, numbers, gains, cuts, directions = job[8:16]
    control, spare = job[16], job[17][0]
    max_leaves, d, n = int64(limits[MAX_LEAVES]), len(n_bins), len(rows)
    n_blocks, bits = len(codes), int64(limits[BITS])
    shift, mask = U(bits), (int64(1) << bits) - int64(1)
    # for each leaf: node, first and last row, depth; its best split
    nodes, set_at, sets, value, weight, gain_of, leaves, best, indices = tree
    # of each leaf the feature of its best split, and the index of its histograms
    best_feature, slot, n_sets = indices[0], indices[1], 0
    bins, keys = np.empty(256, np.int64), np.empty(256)
    chosen = np.empty(4, np.uint64)
    for i in range(4):
        chosen[i] = U(0)
    one_word, copied = gh.shape[1] == 1, False
    leaves[0, 2] = n
    totals[0, 0], totals[0, 1] = 0, 0
    for i in range(len(bounds)):
        bounds[i, 0], bounds[i, 1] = -np.inf, np.inf
    for i in range(n):
        totals[0, 0] += gh[rows[i], 0]
        if not one_word:
            totals[0, 1] += gh[rows[i], 1]
    if one_word:
        totals[0, 1] = (totals[0, 0] & mask) * ((int64(1) << bits) + int64(1))
        totals[0, 0] = totals[0, 0] >> bits
    searched[0] = limits[MAX_DEPTH] > 0 and max_leaves > 1
    n_leaves, n_nodes, small, large = 1, 1, 0, -1
    while True:
        if searched[small] or (large >= 0 and searched[large]):
            start, stop = leaves[small, 1], leaves[small, 2]
            in_order = limits[ROOT_ALL] == 0 or large >= 0
            if in_order and not copied:
                copy_in_order(rows, gh, ordered, start, stop, start)
            control[START], control[STOP], control[IN_ORDER] = start, stop, in_order
            control[SMALL_LEAF], control[LARGE_LEAF] = small, large
            control[SMALL_LEAF + 1] = slot[small]
            control[LARGE_LEAF + 1] = slot[max(large, 0)]
            work = (stop - start + 1024) * n_blocks
            if limits[PARALLEL] > 1 and work >= MIN_PARALLEL_WORK:
                control[TASK_KIND] = HISTOGRAMS
                do_tasks(job, int64(n_blocks))
            else:
                for b in range(n_blocks):
                    fill_and_search(b, job)
        for side in range(2):
            leaf = small if side == 0 else large
            if leaf < 0:
                continue
            best[leaf] = -np.inf
            if searched[leaf]:
                for f in range(d):
                    if gains[leaf, f] > best[leaf]:
                        best[leaf], best_feature[leaf] = gains[leaf, f], f
        if n_leaves == max_leaves:
            break
        leaf = 0
        for i in range(1, n_leaves):
            if best[i] > best[leaf]:
                leaf = i
        if not best[leaf] > numbers[MIN_GAIN]:
            break
        # split it: the left child keeps the number of the leaf, the right one is new
        f, node, new = best_feature[leaf], leaves[leaf, 0], n_leaves
        start, stop, depth = leaves[leaf, 1], leaves[leaf, 2], leaves[leaf, 3]
        hist = hists[slot[leaf], f >> 2, 512 * (f & 3) : 512 * (f & 3) + 512]
        cut, low = int64(cuts[leaf, f]), 0
        g, hw = int64(0), int64(0)
        if categorical[f]:
            low = 2
            sort_categories(hist, n_bins[f], numbers, bins, keys)
            for i in range(4):
                chosen[i] = U(0)
            for s in range(cut):
                b = bins[s]
                chosen[b >> 6] |= U(1) << U(b & 63)
                g += hist[2 * b]
                hw += hist[2 * b + 1]
            for i in range(4):
                sets[n_sets, i] = chosen[i]
            set_at[node] = n_sets
            n_sets += 1
        else:
            for b in range(1, cut + 1):
                g += hist[2 * b]
                hw += hist[2 * b + 1]
            after = cut + 1
            while after <= n_bins[f] and hist[2 * after + 1] == 0:
                after += 1
            # half-way across empty bins
            cut = 255 if after > n_bins[f] else (cut + after) // 2
            if hist[1] == 0:  # none is missing here: later ones go to the heavier side
                low = 0 if 2 * (hw & mask) >= (totals[leaf, 1] & mask) else 1
            elif directions[leaf, f]:
                g += hist[0]
                hw += hist[1]
            else:
                low = 1
        width = 0 if low == 2 else cut - low
        test, copied = (low, width, f, chosen), False
        if limits[PARALLEL] > 1 and stop - start >= MIN_PARALLEL_ROWS:
            copied = n_leaves + 1 < max_leaves
            middle = partition_parallel(job, start, stop, test, not copied)
        else:
            middle = partition(codes[f >> 2], rows, start, stop, spare, test)
        word = (U(n_nodes) << U(32)) | (U(f) << U(16)) | (U(low) << U(8))
        nodes[node] = word | U(width & 255)
        gain_of[node] = best[leaf]
        weight[node] = (totals[leaf, 1] & mask) * numbers[UNIT_W]
        totals[new, 0], totals[new, 1] = totals[leaf, 0] - g, totals[leaf, 1] - hw
        totals[leaf, 0], totals[leaf, 1] = g, hw
        bounds[new, 0], bounds[new, 1] = bounds[leaf, 0], bounds[leaf, 1]
        if signs[f] != 0:
            v1 = leaf_value(totals[leaf], bounds[leaf], numbers, shift)
            v2 = leaf_value(totals[new], bounds[leaf], numbers, shift)
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
        may_split = depth + 1 < limits[MAX_DEPTH] and n_leaves < max_leaves
        for i in (leaf, new):
            enough = (totals[i, 1] & mask) * numbers[UNIT_W] >= 2 * numbers[MIN_LEAF]
            enough = enough and leaves[i, 2] - leaves[i, 1] > 1
            searched[i] = enough and may_split
        # the larger child takes over the histograms of the parent
        if middle - start <= stop - middle:
            small, large = leaf, new
        else:
            small, large = new, leaf
        slot[large] = slot[leaf]
        slot[small] = new
    atomic_swap(control, FINISHED, 1)
    for leaf in range(n_leaves):
        node = leaves[leaf, 0]
        value[node, 0] = leaf_value(totals[leaf], bounds[leaf], numbers, shift)
        weight[node] = (totals[leaf, 1] & mask) * numbers[UNIT_W]
    return n_nodes, n_sets, n_leaves
