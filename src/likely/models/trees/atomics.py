"""Operations that numba lacks: atomic integers for threads, and vectorised pair sums.

Threads that run kernels take tasks from an array of atomic counters. They do not wait in
a system call, so a task of 50 microseconds is worth sharing, and a thread that the system
has suspended delays at most the task that it took.
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
def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """A pointer to an entry of an array."""
    found = make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, found, [index])


@no_type_check
def _exchange(operation: str) -> Any:
    """An operation on a counter that returns its value from before."""

    @intrinsic
    def exchange(typing, array, index, value):
        def code(context, builder, signature, arguments):
            counters, i, new = arguments
            pointer = _pointer(context, builder, signature.args[0], counters, i)
            return builder.atomic_rmw(operation, pointer, new, "seq_cst")

        return int64(array, int64, int64), code

    return exchange


atomic_add, atomic_swap = _exchange("add"), _exchange("xchg")


@intrinsic
@no_type_check
def atomic_load(typing, array, index):
    """The value of a counter now."""

    def code(context, builder, signature, arguments):
        counters, i = arguments
        pointer = _pointer(context, builder, signature.args[0], counters, i)
        return builder.load_atomic(pointer, "seq_cst", 8)

    return int64(array, int64), code


if sys.platform == "win32":

    @intrinsic
    @no_type_check
    def give_way(typing):
        """Let another thread run; on Windows there is no such call, so do nothing."""

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
def add_pair(typing, sums, index, pairs, row):
    """sums[index : index + 2] += pairs[row], as one addition of two numbers."""
    two = ir.VectorType(ir.IntType(64), 2)

    def code(context, builder, signature, arguments):
        kinds = signature.args
        target = _pointer(context, builder, kinds[0], arguments[0], arguments[1])
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
