r"""Blocks of vectors in registers: what numba, which knows no registers, cannot write.

Every number is a vector of eight, one for each of eight networks; the blocks are written in
LLVM's own language. See `lanes_kernel` for what they are parts of.
"""

from typing import Any

from llvmlite import ir
from numba import float32, int64, types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic
from numba.np import arrayobj

LANES = 8
STREAMS = 4
"""Parameters looked at together; their number is padded to a multiple."""
TALL, WIDE = (5, 5) if "+avx512f" in get_host_cpu_features().split(",") else (3, 4)
"""The block of C in registers: there are 32 of them, or 16."""

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


forward_block = _block(TALL, WIDE, "forward")
forward_block_1 = _block(TALL, 1, "forward")
backward_block = _block(TALL, WIDE, "backward")
backward_block_1 = _block(TALL, 1, "backward")
filters_block = _block(TALL, WIDE, "filters")
filters_block_1 = _block(TALL, 1, "filters")
filters_row = _block(1, WIDE, "filters")
filters_one = _block(1, 1, "filters")


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


top_block, top_block_1 = _top(WIDE), _top(1)


@intrinsic
def penalise(typing, theta, g, first, count, decay, sums):  # noqa: PLR0917
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
def adam(typing, state, g, count, moves, numbers):  # noqa: PLR0917
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
def put_row(typing, records, starts, i, blocks, work, x, y, w):  # noqa: PLR0917
    """Row i of eight networks from their records to y, w and x in `work`.

    A record begins at its entry of `starts`. What it has more than columns goes to where
    the next row will be.
    """
    signature = types.void(records, starts, int64, int64, work, int64, int64, int64)

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
