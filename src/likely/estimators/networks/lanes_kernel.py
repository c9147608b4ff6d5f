r"""Adam on eight small networks at a time, each in a lane of the processor's registers.

Every number of a network (a weight, an activation, a derivative) is a vector of eight,
one for each member, and a product of matrices is the plain triple loop over such vectors:

$$C_{ij} \mathrel{+}= A_{ik} \cdot B_{kj}, \qquad A_{ik}, B_{kj}, C_{ij} \in \mathbb R^8.$$

A block of C stays in registers while k runs, so that for ten loads there are 25 products;
no width wastes a lane, no matrix is ever transposed or packed, and the weights of eight
networks, their moments and the activations of a batch stay in the core's own cache. Small
matrix products of one network at a time reach half of the processor's speed at best.

The blocks are written in LLVM's own language with numba, which knows no registers.
"""

from typing import Any, no_type_check

import jax.numpy as jnp
import numpy as np
from llvmlite import binding, ir
from numba import boolean, float32, int32, int64, types, uint32
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from likely.core.compiled import const, inner, kernel
from likely.core.numerics import HALF_LOG_2PI, horizon
from likely.typing import DIVERGED, RUNNING, TRAINED

LANES = 8
STREAMS = 4
"""Parameters looked at together; their number is padded to a multiple."""
TALL, WIDE = (5, 5) if binding.get_host_cpu_features().get("avx512f") else (3, 4)
"""The block of C in registers: there are 32 of them, or 16."""
ROOM = 3 * 2**10
"""Activations of a layer, of eight networks, that are computed at a time."""

HORIZON = np.float32(horizon(jnp.zeros((), jnp.float32)))
LOG_ROOT = np.float32(HALF_LOG_2PI)

_FLOAT, _LONG = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)


class _Writer:
    """Vectors of eight in a program that is being written."""

    def __init__(self, builder: Any):
        self.builder = builder

    def pointer(self, context: Any, kind: Any, value: Any, at: Any) -> Any:
        """To vector `at` of an array."""
        array = arrayobj.make_array(kind)(context, self.builder, value)
        first = self.builder.bitcast(array.data, _VECTOR.as_pointer())
        return self.builder.gep(first, [at])

    def times(self, number: Any, factor: int) -> Any:
        return self.builder.mul(number, ir.Constant(_LONG, factor))

    def load(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=4)

    def store(self, vector: Any, pointer: Any) -> None:
        self.builder.store(vector, pointer, align=4)

    def call(self, name: str, *vectors: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(vectors))
        name = f"llvm.{name}.v{LANES}f32"
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, vectors)

    def add(self, vectors: list, pointer: Any) -> None:
        """Their sum to what is there."""
        total = vectors[0]
        for vector in vectors[1:]:
            total = self.builder.fadd(total, vector)
        self.store(self.builder.fadd(self.load(pointer), total), pointer)

    def splat(self, number: Any) -> Any:
        """The same number in every lane."""
        first = self.builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
        )
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(first, first, order)

    def transposed(self, rows: list) -> list:
        """Eight vectors as the columns of the matrix that they are the rows of."""

        def pairs(vectors, apart, low, high):
            new = list(vectors)
            for i in range(LANES):
                if not i & apart:
                    a, b = vectors[i], vectors[i + apart]
                    new[i] = self.mixed(a, b, low)
                    new[i + apart] = self.mixed(a, b, high)
            return new

        for apart in (4, 2, 1):
            low = [i if not i & apart else i - apart + LANES for i in range(LANES)]
            high = [i + apart if not i & apart else i + LANES for i in range(LANES)]
            rows = pairs(rows, apart, low, high)
        return rows

    def mixed(self, a: Any, b: Any, order: list[int]) -> Any:
        """Entries of a, and from `LANES` on of b."""
        kind = ir.VectorType(ir.IntType(32), LANES)
        return self.builder.shuffle_vector(a, b, ir.Constant(kind, order))

    def started(self, cells: list, biases: list, purpose: str) -> list:
        """What sums start from: see `_block`."""
        if purpose == "backward":
            return [_ZERO] * len(cells)
        return [self.load(p) for p in (biases if purpose == "forward" else cells)]

    def ended(self, value: Any, end: Any, purpose: str) -> Any:
        """A sum as its purpose wants it: see `_block`."""
        if purpose == "forward":
            higher = self.builder.fcmp_unordered(">", value, end)  # no number too
            return self.builder.select(higher, value, end)
        if purpose == "backward":
            return self.alive(self.load(end), value)
        return value

    def alive(self, a: Any, value: Any) -> Any:
        """The value where a is positive, else 0."""
        return self.builder.select(
            self.builder.fcmp_ordered(">", a, _ZERO), value, _ZERO
        )

    def loop(self, stop: Any, step: int, carried: list, body: Any) -> list:
        """body(k, values) -> values for k = 0, step, ... < stop; at least once."""
        builder, before = self.builder, self.builder.block
        inside = builder.append_basic_block("loop")
        after = builder.append_basic_block("after")
        builder.branch(inside)
        builder.position_at_end(inside)
        k = builder.phi(_LONG)
        k.add_incoming(ir.Constant(_LONG, 0), before)
        values = [builder.phi(_VECTOR) for _ in carried]
        for value, start in zip(values, carried, strict=True):
            value.add_incoming(start, before)
        new = body(k, values)
        following = builder.add(k, ir.Constant(_LONG, step))
        k.add_incoming(following, builder.block)
        for value, vector in zip(values, new, strict=True):
            value.add_incoming(vector, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, stop), inside, after)
        builder.position_at_end(after)
        return new


_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)


def _block(tall: int, wide: int, purpose: str) -> Any:
    """A block of C from K products.

    `forward` starts at the bias, the row `e` of `E`, and ends at max(·, floor);
    `filters` adds to what is there; `backward` ends at 0 where C was not positive, and adds
    the sum of each column to `e`.
    """

    @intrinsic
    def block(typing, A, a, ai, ak, B, b, bk, bj, C, c, cj, E, e, floor, K):  # noqa: PLR0917
        numbers = (int64,) * 3
        signature = types.void(
            *(A, *numbers, B, *numbers, C, int64, int64, E, int64, float32, int64)
        )

        def write(context, builder, signature, args):
            kinds, w = signature.args, _Writer(builder)
            a, ai, ak = w.pointer(context, kinds[0], args[0], args[1]), *args[2:4]
            b, bk, bj = w.pointer(context, kinds[4], args[4], args[5]), *args[6:8]
            c, cj = w.pointer(context, kinds[8], args[8], args[9]), args[10]
            e, floor, K = (
                w.pointer(context, kinds[11], args[11], args[12]),
                args[13],
                args[14],
            )
            numbers = [ir.Constant(_LONG, j) for j in range(wide)]
            starts = [builder.gep(c, [w.times(cj, i)]) for i in range(tall)]
            ends = [builder.gep(row, [j]) for row in starts for j in numbers]
            totals = [builder.gep(e, [j]) for j in numbers]
            rows = [builder.gep(a, [w.times(ai, i)]) for i in range(tall)]
            columns = [builder.gep(b, [w.times(bj, j)]) for j in range(wide)]

            def body(k, sums):
                left, right = builder.mul(k, ak), builder.mul(k, bk)
                bs = [w.load(builder.gep(p, [right])) for p in columns]
                new = []
                for i, p in enumerate(rows):
                    x = w.load(builder.gep(p, [left]))
                    part = sums[i * wide : (i + 1) * wide]
                    new += [
                        w.call("fma", x, y, s) for y, s in zip(bs, part, strict=True)
                    ]
                return new

            sums = w.loop(K, 1, w.started(ends, totals * tall, purpose), body)
            for i, (end, value) in enumerate(zip(ends, sums, strict=True)):
                bound = end if purpose == "backward" else w.splat(floor)
                sums[i] = w.ended(value, bound, purpose)
                w.store(sums[i], end)
            if purpose == "backward":
                for j, at in enumerate(totals):
                    w.add(sums[j::wide], at)
            return context.get_dummy_value()

        return signature, write

    return block


_forward, _forward_1 = _block(TALL, WIDE, "forward"), _block(TALL, 1, "forward")
_backward, _backward_1 = _block(TALL, WIDE, "backward"), _block(TALL, 1, "backward")
_filters, _filters_1 = _block(TALL, WIDE, "filters"), _block(TALL, 1, "filters")
_filters_row, _filters_one = _block(1, WIDE, "filters"), _block(1, 1, "filters")


def _top(wide: int) -> Any:
    """The way back through the one output, of some inputs of it and all rows.

    To `g` go Aᵀd and the sums of the slopes d·W, 0 where A is not positive, which take
    the place of A.
    """

    @intrinsic
    def block(typing, work, d, a, I, theta, W, g, w, b, rows):  # noqa: PLR0917, E741
        signature = types.void(
            *(work, int64, int64, int64, theta, int64, g, int64, int64, int64)
        )

        def write(context, builder, signature, args):
            kinds, writer = signature.args, _Writer(builder)
            d, a = (writer.pointer(context, kinds[0], args[0], at) for at in args[1:3])
            W = writer.pointer(context, kinds[4], args[4], args[5])
            g = [writer.pointer(context, kinds[6], args[6], at) for at in args[7:9]]
            places = [ir.Constant(_LONG, j) for j in range(wide)]
            weights = [writer.load(builder.gep(W, [j])) for j in places]

            def body(r, sums):
                slope = writer.load(builder.gep(d, [r]))
                row = builder.gep(a, [builder.mul(r, args[3])])
                ends = [builder.gep(row, [j]) for j in places]
                inputs, slopes = [writer.load(end) for end in ends], []
                for end, x, weight in zip(ends, inputs, weights, strict=True):
                    slopes.append(writer.alive(x, builder.fmul(slope, weight)))
                    writer.store(slopes[-1], end)
                new = [
                    writer.call("fma", x, slope, total)
                    for x, total in zip(inputs, sums[:wide], strict=True)
                ]
                return [*new, *map(builder.fadd, sums[wide:], slopes)]

            sums = writer.loop(args[9], 1, [_ZERO] * (2 * wide), body)
            for end, part in zip(g, (sums[:wide], sums[wide:]), strict=True):
                for j, total in zip(places, part, strict=True):
                    writer.add([total], builder.gep(end, [j]))
            return context.get_dummy_value()

        return signature, write

    return block


_top_wide, _top_1 = _top(WIDE), _top(1)


@intrinsic
def _penalise(typing, theta, g, first, count, decay, sums):  # noqa: PLR0917
    """g += decay·θ; to sums[0] goes Σθ², to sums[1] the largest |g|."""
    signature = types.void(theta, g, int64, int64, decay, sums)

    def write(context, builder, signature, args):
        kinds, w, zero = signature.args, _Writer(builder), ir.Constant(_LONG, 0)
        theta = w.pointer(context, kinds[0], args[0], args[2])
        g = w.pointer(context, kinds[1], args[1], args[2])
        decay = w.load(w.pointer(context, kinds[4], args[4], zero))
        place = w.pointer(context, kinds[5], args[5], zero)
        other = builder.gep(place, [ir.Constant(_LONG, 1)])

        def body(p, sums):
            squares, tops = [], []
            for i, (square, top) in enumerate(
                zip(sums[:STREAMS], sums[STREAMS:], strict=True)
            ):
                at = builder.add(p, ir.Constant(_LONG, i))
                x, slope = builder.gep(theta, [at]), builder.gep(g, [at])
                x = w.load(x)
                value = w.call("fma", decay, x, w.load(slope))
                w.store(value, slope)
                squares.append(w.call("fma", x, x, square))
                size = w.call("fabs", value)
                higher = builder.fcmp_unordered(">", size, top)  # no number too
                tops.append(builder.select(higher, size, top))
            return squares + tops

        sums = w.loop(args[3], STREAMS, [_ZERO] * (2 * STREAMS), body)
        total, top = w.load(place), w.load(other)
        for square, high in zip(sums[:STREAMS], sums[STREAMS:], strict=True):
            total = builder.fadd(total, square)
            top = builder.select(builder.fcmp_unordered(">", high, top), high, top)
        w.store(total, place)
        w.store(top, other)
        return context.get_dummy_value()

    return signature, write


@intrinsic
def _adam(typing, state, g, count, moves, numbers):  # noqa: PLR0917
    """θ, m and v after one step; only lanes with moves > 0 go on.

    state: θ, m, v one behind the other. numbers: β₁, 1 − β₁, β₂, 1 − β₂,
    1/(1 − β₁ᵗ), 1/(1 − β₂ᵗ), ε, η.
    """
    signature = types.void(state, g, int64, moves, numbers)

    def write(context, builder, signature, args):
        kinds, w, zero = signature.args, _Writer(builder), ir.Constant(_LONG, 0)
        theta = w.pointer(context, kinds[0], args[0], zero)
        mean = builder.gep(theta, [args[2]])
        square = builder.gep(mean, [args[2]])
        g = w.pointer(context, kinds[1], args[1], zero)
        moves = w.load(w.pointer(context, kinds[3], args[3], zero))
        moves = builder.fcmp_ordered(">", moves, _ZERO)
        array = arrayobj.make_array(kinds[4])(context, builder, args[4])
        b1, r1, b2, r2, c1, c2, epsilon, rate = (
            w.splat(builder.load(builder.gep(array.data, [ir.Constant(_LONG, i)])))
            for i in range(8)
        )

        def body(p, _):
            at = [builder.gep(first, [p]) for first in (theta, mean, square, g)]
            x, m, v, slope = (w.load(place) for place in at)
            m = w.call("fma", b1, m, builder.fmul(r1, slope))
            v = w.call("fma", b2, v, builder.fmul(r2, builder.fmul(slope, slope)))
            root = w.call("sqrt", builder.fmul(v, c2))
            change = builder.fdiv(builder.fmul(m, c1), builder.fadd(root, epsilon))
            new = builder.fsub(x, builder.fmul(rate, change))
            for vector, place in ((builder.select(moves, new, x), at[0]), (m, at[1])):
                w.store(vector, place)
            w.store(v, at[2])
            return []

        w.loop(args[2], 1, [], body)
        return context.get_dummy_value()

    return signature, write


@intrinsic
def _deal(typing, records, there, i, blocks, work, x, y, w):  # noqa: PLR0917
    """Row i of eight networks from their records to y, w and x in `work`.

    A record begins at its entry of `there`. What it has more than columns goes to where
    the next row will be.
    """
    signature = types.void(records, there, int64, int64, work, int64, int64, int64)

    def write(context, builder, signature, args):
        kinds, writer = signature.args, _Writer(builder)
        first = arrayobj.make_array(kinds[0])(context, builder, args[0]).data
        places = arrayobj.make_array(kinds[1])(context, builder, args[1]).data
        places = builder.gep(places, [writer.times(args[2], LANES)])
        records = [
            builder.gep(first, [builder.load(builder.gep(places, [at]))])
            for at in (ir.Constant(_LONG, lane) for lane in range(LANES))
        ]
        x, y, w = (writer.pointer(context, kinds[4], args[4], at) for at in args[5:8])

        def columns(block):
            start = writer.times(block, LANES)
            rows = (builder.gep(record, [start]) for record in records)
            kind = _VECTOR.as_pointer()
            return writer.transposed(
                [writer.load(builder.bitcast(row, kind)) for row in rows]
            )

        def body(block, _):
            block = builder.add(block, ir.Constant(_LONG, 1))
            for j, column in enumerate(columns(block)):
                at = builder.add(writer.times(block, LANES), ir.Constant(_LONG, j - 2))
                writer.store(column, builder.gep(x, [at]))
            return []

        head = columns(ir.Constant(_LONG, 0))
        writer.store(head[0], y)
        writer.store(head[1], w)
        for j, column in enumerate(head[2:]):
            writer.store(column, builder.gep(x, [ir.Constant(_LONG, j)]))
        more = builder.icmp_signed(">", args[3], ir.Constant(_LONG, 1))
        with builder.if_then(more):
            stop = builder.sub(args[3], ir.Constant(_LONG, 1))
            writer.loop(stop, 1, [], body)
        return context.get_dummy_value()

    return signature, write


# Products of matrices -----------------------------------------------------------------


@inner
@no_type_check
def forward(work, a, rows, I, theta, W, b, J, out, floor):  # noqa: PLR0917, E741
    """max(A W + b, floor) for A at `a` in `work`, to `out`; `rows` in whole blocks."""
    whole = J - J % WIDE
    for j in range(0, whole, WIDE):
        for r in range(0, rows, TALL):
            _forward(
                *(work, a + r * I, I, 1, theta, W + j, J, 1),
                *(work, out + r * J + j, J, theta, b + j, floor, I),
            )
    for j in range(whole, J):
        for r in range(0, rows, TALL):
            _forward_1(
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
            _backward(
                *(work, d + r * J, J, 1, theta, W + i * J, 1, J),
                *(work, a + r * I + i, I, g, b + i, none, J),
            )
    for i in range(whole, I):
        for r in range(0, rows, TALL):
            _backward_1(
                *(work, d + r * J, J, 1, theta, W + i * J, 1, J),
                *(work, a + r * I + i, I, g, b + i, none, J),
            )


@inner
@no_type_check
def top(work, d, rows, theta, W, I, a, g, b):  # noqa: PLR0917, E741
    """`filters` and `backward` where there is one output."""
    whole = I - I % WIDE
    for i in range(0, whole, WIDE):
        _top_wide(work, d, a + i, I, theta, W + i, g, W + i, b + i, rows)
    for i in range(whole, I):
        _top_1(work, d, a + i, I, theta, W + i, g, W + i, b + i, rows)


@inner
@no_type_check
def filters(work, a, I, d, rows, J, g, out):  # noqa: PLR0917, E741
    """Aᵀ D, added to g."""
    none, tall, wide = np.float32(0.0), I - I % TALL, J - J % WIDE
    for j in range(0, wide, WIDE):
        for i in range(0, tall, TALL):
            _filters(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
        for i in range(tall, I):
            _filters_row(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
    for j in range(wide, J):
        for i in range(0, tall, TALL):
            _filters_1(
                *(work, a + i, 1, I, work, d + j, J, 1),
                *(g, out + i * J + j, J, g, 0, none, rows),
            )
        for i in range(tall, I):
            _filters_one(
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
    (batch, count, size, dealt, there), (places, counts, alive) = cut, room
    most, n, width = 0, records.shape[1] - 1, records.shape[2]
    for lane in range(LANES):
        rows, start, k = 0, lane * (n + 1), there[lane]
        first, stride, last = batch * (size - 1), 1, count * (size - 1) + batch
        whole, rest = size - 1, last < k
        if dealt:
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
        _deal(records, places, i, width // LANES, work, i * d, at_y + i, at_w + i)
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
    sizes, state, weights, g, work, records, there, dealt, keys, first, count, size,
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
        dealt: whether these are dealt out one by one.
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
            *(records, order, (batch, count, size, dealt, there), lists),
            *(work, sizes[0], places[0], places[1], shares),
        )
        for lane in range(LANES):
            shares[lane] *= scale[lane]
        slopes_of(sizes, theta, weights, g, work, places, rows, shares, loss)
        sums[:] = 0.0
        _penalise(theta, g, 0, weights, decay, sums)
        for lane in range(LANES):
            loss[lane] += np.float32(0.5) * decay[lane] * sums[lane]
        _penalise(theta, g, weights, parameters - weights, none, sums)
        for lane in range(LANES):
            losses[step, lane], slopes[step, lane] = loss[lane], sums[LANES + lane]
        judge(batch, loss, sums, limits, steps, reasons, last, moves)
        rule[4] = 1.0 / (1.0 - float(numbers[0]) ** (t + 1))
        rule[5] = 1.0 / (1.0 - float(numbers[1]) ** (t + 1))
        _adam(state, g, parameters, moves, rule)
