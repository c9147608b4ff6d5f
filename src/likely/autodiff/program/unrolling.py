"""Expansion of an equation into the steps inside it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from likely.autodiff.program.calls import inner_jaxpr, opened
from likely.autodiff.program.program import LITERAL
from likely.autodiff.program.source import where
from likely.core.checks import InputError

if TYPE_CHECKING:
    from likely.autodiff.program.builder import Builder, Location


def call(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the body of a called function."""
    jaxpr, consts = inner_jaxpr(equation)
    return builder.inline(jaxpr, consts, inputs, at)


def scan(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the iterations of a scan: read a row of each sequence, run the body, stack."""
    params = equation.params
    length, (body, closed) = params["length"], opened(params["jaxpr"])
    _check(builder, length, "scan", at)
    # versions of JAX name the parts differently: a row has one axis less than a sequence
    carried = sum(map(_same_axes, equation.outvars, body.outvars))
    end = sum(map(_same_axes, equation.invars, body.invars))
    n = end - carried
    consts, carry, sequences = inputs[:n], inputs[n:end], inputs[end:]
    iterations = range(length)[::-1] if params["reverse"] else range(length)
    rows: dict[int, list[int]] = {}
    for t in iterations:
        iteration = builder.constant(np.int32(t), LITERAL, str(t))
        read = [_one_step(builder, _row, [x, iteration], at) for x in sequences]
        inside = at.within(f"scan[{t}]")
        made = builder.inline(body, closed, [*consts, *carry, *read], inside)
        carry, rows[t] = made[:carried], made[carried:]
    stacked = zip(*(rows[t] for t in range(length)), strict=True)
    return [*carry, *(_one_step(builder, _stack, list(ys), at) for ys in stacked)]


def while_loop(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the iterations that a while loop takes for these values."""
    params = equation.params
    (body, closed), (test, given) = map(
        opened, (params["body_jaxpr"], params["cond_jaxpr"])
    )
    first = len(test.invars) - len(equation.outvars)
    second = first + len(body.invars) - len(equation.outvars)
    carry, iteration = inputs[second:], 0
    condition = core.jaxpr_as_fun(core.ClosedJaxpr(test, given))
    while condition(*(builder.data[i] for i in [*inputs[:first], *carry]))[0]:
        _check(builder, iteration + 1, "while", at)
        inside = at.within(f"while[{iteration}]")
        arguments = [*inputs[first:second], *carry]
        carry = builder.inline(body, closed, arguments, inside)
        iteration += 1
    return carry


def branch(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the branch that is taken for these values."""
    branches = equation.params["branches"]
    chosen = min(max(int(builder.data[inputs[0]]), 0), len(branches) - 1)
    inside = at.within(f"branch {chosen} of {len(branches)}")
    return builder.inline(*opened(branches[chosen]), inputs[1:], inside)


def _same_axes(outside: Any, inside: Any) -> bool:
    """Whether a value is the same in every iteration, and not one row for each."""
    return len(outside.aval.shape) == len(inside.aval.shape)


EXPANSIONS: dict[str, Callable[..., list[int]]] = {
    "jit": call,
    "library": call,
    "custom": call,
    "scan": scan,
    "while": while_loop,
    "cond": branch,
}


def _check(builder: "Builder", count: int, name: str, at: "Location") -> None:
    if 0 < count <= builder.limit:
        return
    location = where(at.stack.user_frames)
    raise InputError(
        f"the {name} loop{f' at {location}' if location else ''} takes {count or 'no'} iterations "
        f"and limit is {builder.limit}; raise limit, or leave {name!r} out of step_into "
        "to see the loop as one step."
    )


def _one_step(
    builder: "Builder", f: Callable, inputs: list[int], at: "Location"
) -> int:
    """Add a compiled function of this module as one step."""
    values = [builder.values[i] for i in inputs]
    shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
    return builder.emit(jax.make_jaxpr(f)(*shapes).jaxpr.eqns[0], inputs, at)[0]


def row(x, t):
    """Row t of a sequence; the step has this function's name."""
    return jax.lax.dynamic_index_in_dim(x, t, keepdims=False)


def stack(*rows):
    """Rows as one array."""
    return jnp.stack(rows)


_row, _stack = jax.jit(row), jax.jit(stack)
