"""Symbolic expressions from traced functions of scalars."""

import inspect
import operator
from collections.abc import Callable

from likely.autodiff.calculus.expression import (
    FUNCTIONS,
    Expression,
    apply,
    constant,
    exp,
    log,
    sqrt,
    symbol,
)
from likely.autodiff.program.arguments import Arguments
from likely.autodiff.program.program import Step
from likely.core.checks import InputError


def symbolic(f: Callable) -> Expression:
    """The expression that a function of scalars computes, in the names of its parameters.

    Args:
        f: a function of Python operators and `jax.numpy`, without branches.
    """
    names = list(inspect.signature(f).parameters)
    call = Arguments(f, (0.5,) * len(names), {}, argnums=None, has_aux=False)
    program = call.program(("jit", "library", "custom"), 1)
    known = dict(zip(program.inputs, map(symbol, names), strict=True))
    known |= {i: constant(float(data)) for i, data in program.constants.items()}
    for step in program.steps:
        known[step.outputs[0]] = _translated(step, [known[i] for i in step.inputs])
    return known[program.outputs[0]]


def _translated(step: Step, inputs: list[Expression]) -> Expression:
    if step.name == "integer_pow":
        return inputs[0] ** step.params["y"]
    if step.name in _TRANSLATIONS:
        return _TRANSLATIONS[step.name](*inputs)
    if step.name in FUNCTIONS:
        return apply(step.name, *inputs)
    raise InputError(
        f"{step.name} has no place in a scalar expression; use + − · / powers, sin, cos, "
        "tan, exp, log, sqrt, tanh."
    )


_TRANSLATIONS: dict[str, Callable] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
    "logistic": lambda a: 1 / (1 + exp(-a)),
    "square": lambda a: a * a,
    "log1p": lambda a: log(1 + a),
    "expm1": lambda a: exp(a) - 1,
    "rsqrt": lambda a: 1 / sqrt(a),
    "sinh": lambda a: (exp(a) - exp(-a)) / 2,
    "cosh": lambda a: (exp(a) + exp(-a)) / 2,
    "convert_element_type": lambda a: a,
    "copy": lambda a: a,
    "copy_p": lambda a: a,
}
