"""The three functions of a step: its value, its tangent, its adjoints.

    evaluate(inputs)                     y = f(x)
    push(inputs, tangents)               ẏ = Σⱼ ∂f/∂xⱼ ẋⱼ            forward mode
    pull(inputs, cotangents)             x̄ⱼ = ȳ ∂f/∂xⱼ                reverse mode

JAX compiles the first; the others are compiled here, once for each primitive with its
parameters and shapes, and cached, so that a second trace of a similar function is fast.
The local derivatives are JAX's own, also for functions with custom derivatives
(`custom_jvp`, `custom_vjp`) and for loops.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError, concrete


def is_inexact(dtype: Any) -> bool:
    """Whether a type can have derivatives: float or complex."""
    return jnp.issubdtype(dtype, np.inexact)


class Rule:
    """A primitive with its parameters, as functions of one step."""

    def __init__(self, primitive: Any, params: dict[str, Any]):
        self.primitive, self.params = primitive, params
        self._compiled = (self._push, self._pull)
        # JAX creates new parameters of a custom derivative in each trace, so a compiled
        # function for them would never be reused.
        if not primitive.name.startswith("custom"):
            self._compiled = (
                jax.jit(self._push, static_argnums=0),
                jax.jit(self._pull, static_argnums=0),
            )

    def evaluate(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of the step."""
        bound = self.primitive.get_bind_params(self.params)
        outputs = self.primitive.bind(*inputs, **bound)
        return list(outputs) if self.primitive.multiple_results else [outputs]

    def push(self, positions: tuple[int, ...], inputs, tangents) -> list[Any]:
        """The tangents of the inexact outputs, given those of the inputs at `positions`."""
        inside = not concrete((inputs, tangents))  # of another compiled function
        run = self._push if inside else self._compiled[0]
        try:
            return run(positions, inputs, tangents)
        except TypeError as error:
            if "custom_vjp" not in str(error):
                raise
            raise InputError(
                "a function with a custom_vjp has no forward mode as one step, since "
                "it only defines a reverse rule; trace with step_into='custom' to see and "
                "differentiate its steps, or use reverse mode."
            ) from error

    def pull(self, positions: tuple[int, ...], inputs, cotangents) -> list[Any]:
        """The cotangents of the inputs at `positions`, given those of the outputs."""
        inside = not concrete((inputs, cotangents))
        run = self._pull if inside else self._compiled[1]
        try:
            return run(positions, inputs, cotangents)
        except ValueError as error:
            if "while_loop" not in str(error):
                raise
            raise InputError(
                "a while loop has no reverse mode as one step, since the number of its "
                "iterations is not known beforehand; trace with step_into='while' to "
                "unroll the iterations it takes here, or use forward mode."
            ) from error

    def moving(self, positions: tuple[int, ...], inputs: Sequence[Any]):
        """The inexact outputs as a function of the inputs at these positions."""

        def moved(*values):
            changed = dict(zip(positions, values, strict=True))
            outputs = self.evaluate([changed.get(i, x) for i, x in enumerate(inputs)])
            return [y for y in outputs if is_inexact(y.dtype)]

        return moved, [inputs[i] for i in positions]

    def _push(self, positions: tuple[int, ...], inputs, tangents) -> list[Any]:
        moved, values = self.moving(positions, inputs)
        return jax.jvp(moved, values, list(tangents))[1]

    def _pull(self, positions: tuple[int, ...], inputs, cotangents) -> list[Any]:
        moved, values = self.moving(positions, inputs)
        return list(jax.vjp(moved, *values)[1](list(cotangents)))


def rule_of(equation: Any) -> Rule:
    """The rule of an equation; equal primitives and parameters share one."""
    items = tuple(sorted(equation.params.items()))
    try:
        return _rule(equation.primitive, items)
    except TypeError:  # a parameter that cannot be hashed
        return Rule(equation.primitive, dict(items))


@functools.lru_cache(maxsize=2048)
def _rule(primitive: Any, items: tuple[tuple[str, Any], ...]) -> Rule:
    return Rule(primitive, dict(items))
