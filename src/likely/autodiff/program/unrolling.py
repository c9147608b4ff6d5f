"""Expansion of an equation into the steps inside it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from likely.autodiff.program.calls import inner_jaxpr
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
    length, body, n = params["length"], params["jaxpr"], params["num_consts"]
    _check(builder, length, "scan", at)
    end = n + params["num_carry"]
    consts, carry, sequences = inputs[:n], inputs[n:end], inputs[end:]
    iterations = range(length)[::-1] if params["reverse"] else range(length)
    rows: dict[int, list[int]] = {}
    for t in iterations:
        iteration = builder.constant(np.int32(t), LITERAL, str(t))
        read = [_one_step(builder, _row, [x, iteration], at) for x in sequences]
        inside = at.within(f"scan[{t}]")
        made = builder.inline(body.jaxpr, body.consts, [*consts, *carry, *read], inside)
        carry, rows[t] = made[: end - n], made[end - n :]
    stacked = zip(*(rows[t] for t in range(length)), strict=True)
    return [*carry, *(_one_step(builder, _stack, list(ys), at) for ys in stacked)]


def while_loop(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the iterations that a while loop takes for these values."""
    params = equation.params
    body, first = params["body_jaxpr"], params["cond_nconsts"]
    second = first + params["body_nconsts"]
    carry, iteration = inputs[second:], 0
    condition = core.jaxpr_as_fun(params["cond_jaxpr"])
    while condition(*(builder.data[i] for i in [*inputs[:first], *carry]))[0]:
        _check(builder, iteration + 1, "while", at)
        inside = at.within(f"while[{iteration}]")
        arguments = [*inputs[first:second], *carry]
        carry = builder.inline(body.jaxpr, body.consts, arguments, inside)
        iteration += 1
    return carry


def branch(
    builder: "Builder", equation: Any, inputs: list[int], at: "Location"
) -> list[int]:
    """Add the branch that is taken for these values."""
    branches = equation.params["branches"]
    chosen = min(max(int(builder.data[inputs[0]]), 0), len(branches) - 1)
    body, inside = branches[chosen], at.within(f"branch {chosen} of {len(branches)}")
    return builder.inline(body.jaxpr, body.consts, inputs[1:], inside)


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
