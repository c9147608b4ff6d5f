"""What numba lacks: whole numbers that threads share, to share out work; pairs added at once.

Two threads that run kernels meet in an array of counters. They do not wait in a system
call, so a piece of work of 50 microseconds is worth sharing, and a thread that the
system has put aside holds up at most the piece it took.
"""

import sys
from typing import Any, no_type_check

from llvmlite import ir
from numba import int32, int64, types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

from likely.core.compiled import inner


@no_type_check
def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    found = make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, found, [index])


@intrinsic
@no_type_check
def atomic_add(typing, array, index, amount):
    """Add, and return what was there before."""

    def code(context, builder, signature, arguments):
        counters, i, value = arguments
        place = _place(context, builder, signature.args[0], counters, i)
        return builder.atomic_rmw("add", place, value, "seq_cst")

    return int64(array, int64, int64), code


@intrinsic
@no_type_check
def atomic_swap(typing, array, index, value):
    """Store, and return what was there before."""

    def code(context, builder, signature, arguments):
        counters, i, new = arguments
        place = _place(context, builder, signature.args[0], counters, i)
        return builder.atomic_rmw("xchg", place, new, "seq_cst")

    return int64(array, int64, int64), code


@intrinsic
@no_type_check
def atomic_load(typing, array, index):
    """What is there now."""

    def code(context, builder, signature, arguments):
        counters, i = arguments
        place = _place(context, builder, signature.args[0], counters, i)
        return builder.load_atomic(place, "seq_cst", 8)

    return int64(array, int64), code


if sys.platform == "win32":

    @intrinsic
    @no_type_check
    def give_way(typing):
        """Let another thread run: nothing to call here, so only wait a moment."""

        def code(context, builder, signature, arguments):
            builder.fence("seq_cst")
            return ir.Constant(ir.IntType(32), 0)

        return int32(), code

else:
    _sched_yield = types.ExternalFunction("sched_yield", int32())

    @inner
    @no_type_check
    def give_way():
        """Let another thread run."""
        return _sched_yield()


@intrinsic
@no_type_check
def add_pair(typing, sums, place, pairs, row):
    """sums[place : place + 2] += pairs[row], as one addition of two numbers."""
    two = ir.VectorType(ir.IntType(64), 2)

    def code(context, builder, signature, arguments):
        kinds = signature.args
        target = _place(context, builder, kinds[0], arguments[0], arguments[1])
        array = make_array(kinds[2])(context, builder, arguments[2])
        first = [arguments[3], ir.Constant(ir.IntType(64), 0)]
        source = cgutils.get_item_pointer(context, builder, kinds[2], array, first)
        target = builder.bitcast(target, two.as_pointer())
        source = builder.bitcast(source, two.as_pointer())
        total = builder.add(
            builder.load(target, align=8), builder.load(source, align=8)
        )
        builder.store(total, target, align=8)
        return context.get_dummy_value()

    return types.void(sums, int64, pairs, int64), code
