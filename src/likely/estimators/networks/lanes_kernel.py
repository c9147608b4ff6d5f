r"""Adam on eight small networks at a time, each in a lane of the processor's registers.

Every number of a network (a weight, an activation, a derivative) is a vector of eight,
one for each member, and a product of matrices is the plain triple loop over such vectors:

$$C_{ij} \mathrel{+}= A_{ik} \cdot B_{kj}, \qquad A_{ik}, B_{kj}, C_{ij} \in \mathbb R^8.$$

A block of C stays in registers while k runs, so that for ten loads there are 25 products;
no width wastes a lane, no factor is transposed or packed, and the weights of eight
networks, their moments and the activations of a batch stay in the core's own cache. Small
matrix products of one network at a time reach half of the processor's speed at best.

The blocks are those of `lanes_blocks`.
"""

from typing import no_type_check

import jax.numpy as jnp
import numpy as np
from numba import boolean, float32, int32, int64, types, uint32

from likely.core.compiled import const, inner, kernel
from likely.core.numerics import HALF_LOG_2PI, horizon
from likely.estimators.networks.lanes_blocks import (
    LANES,
    TALL,
    WIDE,
    adam,
    backward_block,
    backward_block_1,
    filters_block,
    filters_block_1,
    filters_one,
    filters_row,
    forward_block,
    forward_block_1,
    penalise,
    put_row,
    top_block,
    top_block_1,
)
from likely.typing import DIVERGED, RUNNING, TRAINED

ROOM = 3 * 2**10
"""Activations of a layer, of eight networks, that are computed at a time."""

HORIZON = np.float32(horizon(jnp.zeros((), jnp.float32)))
LOG_ROOT = np.float32(HALF_LOG_2PI)


# Products of matrices -----------------------------------------------------------------


@inner
@no_type_check
def forward(work, a, rows, I, theta, W, b, J, out, floor):  # noqa: PLR0917, E741
    """max(A W + b, floor) for A at `a` in `work`, to `out`; `rows` in whole blocks."""
    whole = J - J % WIDE
    for j in range(0, whole, WIDE):
        for r in range(0, rows, TALL):
            forward_block(
                *(work, a + r * I, I, 1, theta, W + j, J, 1),
                *(work, out + r * J + j, J, theta, b + j, floor, I),
            )
    for j in range(whole, J):
        for r in range(0, rows, TALL):
            forward_block_1(
                *(work, a + r * I, I, 1, theta, W + j, J, 1),
                *(work, out + r * J + j, J, theta, b + j, floor, I),
            )


@inner
@no_type_check
def backward(work, d, rows, J, theta, W, I, a, g, b):  # noqa: PLR0917, E741
    """D Wᵀ where A is positive, else 0, in the place of A; its sums are added to g."""
    whole, none = I - I % WIDE, np.float32(0.0)
    for i in range(0, whole, WIDE):
        for r in range(0, rows, TALL):
            backward_block(
                *(work, d + r * J, J, 1, theta, W + i * J, 1, J),
                *(work, a + r * I + i, I, g, b + i, none, J),
            )
    for i in range(whole, I):
        for r in range(0, rows, TALL):
            backward_block_1(
                *(work, d + r * J, J, 1, theta, W + i * J, 1, J),
                *(work, a + r * I + i, I, g, b + i, none, J),
            )


@inner
@no_type_check
def top(work, d, rows, theta, W, I, a, g, b):  # noqa: PLR0917, E741
    """`filters` and `backward` where there is one output."""
    whole = I - I % WIDE
    for i in range(0, whole, WIDE):
        top_block(work, d, a + i, I, theta, W + i, g, W + i, b + i, rows)
    for i in range(whole, I):
        top_block_1(work, d, a + i, I, theta, W + i, g, W + i, b + i, rows)


@inner
@no_type_check
def filters(work, a, I, d, rows, J, g, out):  # noqa: PLR0917, E741
    """Aᵀ D, added to g."""
    none, tall, wide = np.float32(0.0), I - I % TALL, J - J % WIDE
    for j in range(0, wide, WIDE):
        for i in range(0, tall, TALL):
            filters_block(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
        for i in range(tall, I):
            filters_row(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
    for j in range(wide, J):
        for i in range(0, tall, TALL):
            filters_block_1(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
        for i in range(tall, I):
            filters_one(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )


# Rows and losses ----------------------------------------------------------------------


@inner
@no_type_check
def _hash(x):
    """As in `core.permutation`."""
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(16))) * np.uint32(0x7FEB352D))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(x >> np.uint32(16))


@inner
@no_type_check
def _shifted(x, h, size):
    x = np.uint32(x + np.uint32(np.uint32(h * size) >> np.uint32(16)))
    return min(x, np.uint32(x - size))  # below 0 is large


@inner
@no_type_check
def _lead(q, r, a, b, keys):
    q, r = np.uint32(q), np.uint32(r)
    for k in range(keys.shape[0]):
        q = _shifted(q, _hash(np.uint32(r ^ keys[k, 0])), a)
        r = _shifted(r, _hash(np.uint32(q ^ keys[k, 1])), b)
    return np.uint32(q * b + r)


@inner
@no_type_check
def _round(x, of, key, size, n):  # noqa: PLR0917
    for i in range(n):
        x[i] = _shifted(x[i], _hash(np.uint32(of[i] ^ key)), size)


@inner
@no_type_check
def permute(keys, n, order, q, r):  # noqa: PLR0917
    """`core.permutation` of more than a few rows: the same numbers, to `order`.

    All places go through a round together, which fills the registers.
    """
    a = 1
    while a * a < n:
        a += 1
    b = (n + a - 1) // a
    tall, wide = np.uint32(a), np.uint32(b)
    for i in range(a):
        for j in range(b):
            q[i * b + j], r[i * b + j] = np.uint32(i), np.uint32(j)
    for k in range(keys.shape[0]):
        _round(q, r, keys[k, 0], tall, n)
        _round(r, q, keys[k, 1], wide, n)
    for i in range(n):
        order[i] = q[i] * wide + r[i]
    for i in range(n):
        while order[i] >= n:
            place = np.uint32(order[i])
            order[i] = _lead(place // wide, place % wide, tall, wide, keys)


@inner
@no_type_check
def gather(records, order, cut, room, work, d, at_y, at_w, shares):  # noqa: PLR0917
    """The rows of a batch that are there, side by side; how many, in whole blocks.

    A lane that has fewer gets the record after its last one, of weight 0. `shares` are
    what the rows of each are worth, as in `solvers.minibatches`, whose cuts these are.
    """
    (batch, count, size, evenly, there), (places, counts, alive) = cut, room
    most, n, width = 0, records.shape[1] - 1, records.shape[2]
    for lane in range(LANES):
        rows, start, k = 0, lane * (n + 1), there[lane]
        first, stride, last = batch * (size - 1), 1, count * (size - 1) + batch
        whole, rest = size - 1, last < k
        if evenly:
            first, stride, rest = batch, count, False
            whole = (k - batch + count - 1) // count
        for i in range(whole):
            row = order[lane, first + i * stride]
            places[rows, lane] = (start + row) * width
            rows += alive[lane, row]
        if rest:
            row = order[lane, last]
            places[rows, lane] = (start + row) * width
            rows += alive[lane, row]
        counts[lane] = rows
        share = np.float32(k) / np.float32(n) / np.float32(max(whole + rest, 1))
        shares[lane] = np.float32(size) * share
        most = max(most, rows)
    rows = max(TALL, (most + TALL - 1) // TALL * TALL)
    for lane in range(LANES):
        for i in range(counts[lane], rows):
            places[i, lane] = (lane * (n + 1) + n) * width
    for i in range(rows):
        put_row(records, places, i, width // LANES, work, i * d, at_y + i, at_w + i)
    return rows


@inner
@no_type_check
def normal(work, eta, y, w, rows, theta, tail, g, scale, loss):  # noqa: PLR0917
    """y ~ N(η, σ²) with one log σ, the tail of θ: losses, and η becomes dL/dη.

    The slope of the tail, and that of the bias of η before it, are added to g.
    """
    for lane in range(LANES):
        eta_scale, bend = theta[tail * LANES + lane], np.float32(1.0)
        log_scale, beyond = eta_scale, np.abs(eta_scale) - HORIZON
        if beyond > 0:  # as `core.numerics.bounded`
            log_scale = np.copysign(HORIZON + np.log1p(beyond), eta_scale)
            bend = np.float32(1.0) / (np.float32(1.0) + beyond)
        inverse = np.exp(-log_scale)
        total, slope, shift = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for r in range(rows):
            weight = work[(w + r) * LANES + lane] * scale[lane]
            gap = work[(y + r) * LANES + lane] - work[(eta + r) * LANES + lane]
            z = gap * inverse
            if weight > 0:
                total += weight * (log_scale + LOG_ROOT + np.float32(0.5) * z * z)
                slope += weight * (np.float32(1.0) - z * z)
                work[(eta + r) * LANES + lane] = -weight * z * inverse
                shift += work[(eta + r) * LANES + lane]
            else:
                work[(eta + r) * LANES + lane] = 0.0
        loss[lane] += total
        g[tail * LANES + lane] += slope * bend
        g[(tail - 1) * LANES + lane] += shift


# The loop -----------------------------------------------------------------------------


@inner
@no_type_check
def rooms(sizes, r):
    """Where things are in the room for work: its last entry is how large that is.

    Rows are at 0, then come targets, weights, and the activations of each layer for as
    many rows as there are in entry 2; on the way back slopes take their place.
    """
    r, at = r + TALL, (r + TALL) * sizes[0] + LANES + 2
    rows = max(TALL, ROOM // max(sizes[1:]) // TALL * TALL)
    places = np.empty(len(sizes) + 3, np.int64)
    places[0], places[1], places[2] = at, at + r, rows
    at += 2 * r
    for layer in range(1, len(sizes) + 1):
        places[2 + layer] = at
        if layer < len(sizes):
            at += rows * sizes[layer]
    return places


@inner
@no_type_check
def slopes_of(sizes, theta, weights, g, work, places, rows, scale, loss):  # noqa: PLR0917
    """Loss and gradient of the rows that are in the room, a stretch of them at a time."""
    layers, room = len(sizes) - 1, places[2]
    activations = np.empty(layers + 1, np.int64)
    for layer in range(layers):
        activations[layer + 1] = places[3 + layer]
    g[:] = 0.0
    loss[:] = 0.0
    for start in range(0, rows, room):
        part = min(room, rows - start)
        activations[0] = start * sizes[0]
        W, b = 0, weights
        for layer in range(layers):
            floor = -np.inf if layer == layers - 1 else 0.0
            forward(
                *(work, activations[layer], part, sizes[layer], theta, W, b),
                *(sizes[layer + 1], activations[layer + 1], np.float32(floor)),
            )
            W += sizes[layer] * sizes[layer + 1]
            b += sizes[layer + 1]
        here = activations[layers]
        y, w = places[0] + start, places[1] + start
        normal(work, here, y, w, part, theta, b, g, scale, loss)
        for layer in range(layers - 1, -1, -1):
            I, J = sizes[layer], sizes[layer + 1]  # noqa: E741
            W -= I * J
            b -= J
            below = activations[layer]
            if layer == layers - 1 > 0:
                top(work, here, part, theta, W, I, below, g, b - I)
            else:
                filters(work, below, I, here, part, J, g, W)
            if 0 < layer < layers - 1:
                backward(work, here, part, J, theta, W, I, below, g, b - I)
            here = below


@inner
@no_type_check
def judge(place, loss, sums, limits, steps, reasons, last, moves):  # noqa: PLR0917
    """Who stops here and why, as `solvers.stepper`; the others move."""
    for lane in range(LANES):
        moves[lane] = 0.0
        if reasons[lane] != RUNNING:
            continue
        value, top = loss[lane], sums[LANES + lane]
        last[1, lane] = last[2, lane] = top
        if not (np.isfinite(value) and np.isfinite(top)):
            reasons[lane] = DIVERGED
            last[2, lane] = top if np.isfinite(value) else value
            continue
        moves[lane] = 1.0
        mean = np.float32(0.0) if place == 0 else last[0, lane]
        last[0, lane] = mean + (value - mean) / np.float32(place + 1)
        steps[lane] += 1
        if steps[lane] >= limits[lane]:
            reasons[lane] = TRAINED


@kernel(
    types.void(
        *(const(int64, 1), float32[:, ::1], int64, float32[::1], float32[::1]),
        *(const(float32, 3), const(int64, 1), boolean, const(uint32, 4)),
        *(int64, int64, int64, const(float32, 1), const(float32, 1), const(float32, 1)),
        *(const(int32, 1), int32[::1], int32[::1], float32[:, ::1]),
        *(float32[:, ::1], float32[:, ::1]),
    )
)
@no_type_check
def advance(  # noqa: PLR0917
    sizes, state, weights, g, work, records, there, evenly, keys, first, count, size,
    numbers, scale, decay, limits, steps, reasons, last, losses, slopes,
):  # fmt: skip
    """Steps first, first + 1, ... of eight networks, as many as `losses` has room for.

    Args:
        sizes: inputs, hidden widths, outputs.
        state: θ, m and v: (3, P·8); the weights of θ first, `weights` of them with
            padding, then the biases and log σ.
        weights: see `state`.
        g: room for a gradient, (P·8).
        work: room for rows and activations.
        records: the rows of each, and one of zeros: target, weight, columns, and zeros
            up to a multiple of eight, (8, n + 1, ...).
        there: how many of them are drawn, the first ones.
        evenly: whether these are dealt out one by one.
        keys: of the order of each epoch, from that of the first step on:
            (8, epochs, rounds, 2).
        first: the number of the first step.
        count: steps of an epoch.
        size: r, rows of a step; the last ones may have one less.
        numbers: β₁, β₂, ε, η.
        scale: 1/(r·mean weight).
        decay: α/total weight.
        limits: the last step of each.
        steps: how far each is.
        reasons: why it stopped.
        last: the mean loss of the epoch, the largest slope, and what it ended at.
        losses: of each step.
        slopes: the largest of each step.
    """
    parameters, n, theta = len(g) // LANES, records.shape[1] - 1, state[0]
    places = rooms(sizes, size)
    sums, moves = np.empty(2 * LANES, np.float32), np.empty(LANES, np.float32)
    loss, none = np.empty(LANES, np.float32), np.zeros(LANES, np.float32)
    rule = np.empty(8, np.float32)
    rule[0], rule[1] = numbers[0], np.float32(1.0) - numbers[0]
    rule[2], rule[3] = numbers[1], np.float32(1.0) - numbers[1]
    rule[6], rule[7] = numbers[2], numbers[3]
    order = np.empty((LANES, count * size), np.int32)
    high, low = np.empty(2 * n, np.uint32), np.empty(2 * n, np.uint32)
    lines, counts = np.empty((size + TALL, LANES), np.int64), np.empty(LANES, np.int64)
    alive = np.empty((LANES, n), np.uint8)
    for lane in range(LANES):
        for i in range(n):
            alive[lane, i] = records[lane, i, 1] > 0
    lists = lines, counts, alive
    shares = np.empty(LANES, np.float32)
    for step in range(len(losses)):
        t = first + step
        if step == 0 or t % count == 0:
            for lane in range(LANES):
                epoch = t // count - first // count
                permute(keys[lane, epoch], there[lane], order[lane], high, low)
        batch = t % count
        rows = gather(
            *(records, order, (batch, count, size, evenly, there), lists),
            *(work, sizes[0], places[0], places[1], shares),
        )
        for lane in range(LANES):
            shares[lane] *= scale[lane]
        slopes_of(sizes, theta, weights, g, work, places, rows, shares, loss)
        sums[:] = 0.0
        penalise(theta, g, 0, weights, decay, sums)
        for lane in range(LANES):
            loss[lane] += np.float32(0.5) * decay[lane] * sums[lane]
        penalise(theta, g, weights, parameters - weights, none, sums)
        for lane in range(LANES):
            losses[step, lane], slopes[step, lane] = loss[lane], sums[LANES + lane]
        judge(batch, loss, sums, limits, steps, reasons, last, moves)
        rule[4] = 1.0 / (1.0 - float(numbers[0]) ** (t + 1))
        rule[5] = 1.0 / (1.0 - float(numbers[1]) ** (t + 1))
        adam(state, g, parameters, moves, rule)
