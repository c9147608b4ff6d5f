"""The program of a jaxpr: each equation becomes one step or the steps inside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
from jax.extend import core

from likely.autodiff.program.calls import (
    IGNORED,
    changes_nothing,
    is_product,
    needs_data,
    option_of,
    step_name,
)
from likely.autodiff.program.naming import name_steps, numbered
from likely.autodiff.program.program import (
    CONSTANT,
    INPUT,
    LITERAL,
    STEP,
    Program,
    Step,
    Value,
)
from likely.autodiff.program.rules import rule_of
from likely.autodiff.program.source import Stack, stack_of
from likely.autodiff.program.text import number
from likely.autodiff.program.unrolling import EXPANSIONS


class Location(NamedTuple):
    """The source location, and the loop iterations, at which steps are being added."""

    stack: Stack = Stack()
    scope: tuple[str, ...] = ()

    def within(self, scope: str) -> "Location":
        """The location inside one more loop or branch."""
        return Location(self.stack, (*self.scope, scope))


class Builder:
    """Collects values and steps while it walks through a jaxpr."""

    def __init__(self, options: frozenset[str], limit: int):
        self.options, self.limit = options, limit
        self.values: list[Value] = []
        self.data: dict[int, Any] = {}
        self.steps: list[Step] = []

    def value(self, aval: Any, kind: str, name: str = "") -> int:
        """Add a value and return its number."""
        index, shape = len(self.values), tuple(aval.shape)
        self.values.append(Value(index, name, shape, aval.dtype, kind, bool(name)))
        return index

    def constant(self, data: Any, kind: str, name: str) -> int:
        """Add a value whose data are known and return its number."""
        index = self.value(jax.typeof(data), kind, name)
        self.data[index] = data
        return index

    def inline(
        self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[int], at: Location
    ) -> list[int]:
        """Add the equations of a jaxpr as steps and return its outputs."""
        closed = [self.constant(data, CONSTANT, "constant") for data in consts]
        env = dict(zip(jaxpr.constvars, closed, strict=True))
        env |= dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> int:
            if isinstance(atom, core.Literal):
                return self.constant(atom.val, LITERAL, number(atom.val))
            return env[atom]

        for equation in jaxpr.eqns:
            if equation.primitive.name in IGNORED:
                continue
            inputs = [read(atom) for atom in equation.invars]
            inner = Location(stack_of(equation).inside(at.stack), at.scope)
            env |= zip(equation.outvars, self.add(equation, inputs, inner), strict=True)
        return [read(atom) for atom in jaxpr.outvars]

    def add(self, equation: Any, inputs: list[int], at: Location) -> list[int]:
        """Add an equation as one step, or as the steps inside it."""
        if changes_nothing(equation):
            return inputs
        option = option_of(equation)
        if option and (option in self.options or is_product(equation)):
            return EXPANSIONS[option](self, equation, inputs, at)
        return self.emit(equation, inputs, at)

    def emit(self, equation: Any, inputs: list[int], at: Location) -> list[int]:
        """Add an equation as one step."""
        outputs = [self.value(v.aval, STEP) for v in equation.outvars]
        rule, number = rule_of(equation), len(self.steps) + 1
        name, values = step_name(equation), (tuple(inputs), tuple(outputs))
        self.steps.append(Step(number, name, *values, equation.params, rule, *at))
        if needs_data(self.options):
            data = [self.data[i] for i in inputs]
            self.data |= zip(outputs, rule.evaluate(data), strict=True)
        return outputs

    def program(
        self, inputs: Sequence[int], outputs: Sequence[int], variables: frozenset[int]
    ) -> Program:
        """The program, with names, without the steps that no output needs."""
        needed, kept = set(outputs), []
        for step in reversed(self.steps):
            if needed.intersection(step.outputs):
                needed.update(step.inputs)
                kept.append(step)
        steps = tuple(replace(step, number=n) for n, step in enumerate(kept[::-1], 1))
        taken = {v.name for v in self.values if v.kind == INPUT}
        names, chosen = name_steps(steps, outputs, taken)
        closed = {v.index: v.name for v in self.values if v.kind == CONSTANT}
        names |= numbered(closed, taken)
        values = tuple(
            replace(
                v, name=names.get(v.index, v.name), named=v.named or v.index in chosen
            )
            for v in self.values
        )

        def data(*kinds: str) -> dict[int, Any]:
            return {i: d for i, d in self.data.items() if values[i].kind in kinds}

        ends = tuple(inputs), tuple(outputs)
        constants = data(CONSTANT, LITERAL)
        return Program(values, steps, *ends, constants, variables, data(STEP))
