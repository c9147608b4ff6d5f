"""The program of a jaxpr: each equation becomes one step or the steps inside it."""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core

from likely.autodiff.calls import (
    IGNORED,
    changes_nothing,
    is_product,
    needs_data,
    option_of,
    step_name,
)
from likely.autodiff.naming import name_steps, numbered
from likely.autodiff.program import CONSTANT, INPUT, LITERAL, STEP, Program, Step, Value
from likely.autodiff.rules import rule_of
from likely.autodiff.source import Stack, stack_of
from likely.autodiff.text import number
from likely.autodiff.unrolling import EXPANSIONS


class Location(NamedTuple):
    """The source location, and the loop iterations, at which steps are being added."""

    stack: Stack = Stack()
    scope: tuple[str, ...] = ()

    def within(self, scope: str) -> "Location":
        """The location inside one more loop or branch."""
        return Location(self.stack, (*self.scope, scope))


class Draft(NamedTuple):
    """A step before it has a number."""

    equation: Any
    inputs: list[int]
    outputs: list[int]
    location: Location


class Builder:
    """Collects values and steps while it walks through a jaxpr."""

    def __init__(self, options: frozenset[str], limit: int):
        self.options, self.limit = options, limit
        self.avals: list[Any] = []
        self.kinds: list[str] = []
        self.names: dict[int, str] = {}
        self.data: dict[int, Any] = {}
        self.drafts: list[Draft] = []

    def value(self, aval: Any, kind: str, name: str | None = None) -> int:
        """Add a value and return its number."""
        self.avals.append(aval)
        self.kinds.append(kind)
        index = len(self.avals) - 1
        if name is not None:
            self.names[index] = name
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
        self.drafts.append(Draft(equation, inputs, outputs, at))
        if needs_data(self.options):
            data = [self.data[i] for i in inputs]
            self.data |= zip(outputs, rule_of(equation).evaluate(data), strict=True)
        return outputs

    def program(
        self, inputs: Sequence[int], outputs: Sequence[int], variables: frozenset[int]
    ) -> Program:
        """The program, with names, without the steps that no output needs."""
        kept = self._needed(outputs)
        chosen = self._name(kept, outputs)
        values = tuple(
            Value(i, self.names.get(i, ""), tuple(a.shape), a.dtype, kind, i in chosen)
            for i, (a, kind) in enumerate(zip(self.avals, self.kinds, strict=True))
        )
        known = {i: d for i, d in self.data.items() if self.kinds[i] == STEP}
        fixed = (CONSTANT, LITERAL)
        constants = {i: d for i, d in self.data.items() if self.kinds[i] in fixed}
        return Program(
            values,
            tuple(_step(n, draft) for n, draft in enumerate(kept, start=1)),
            tuple(inputs),
            tuple(outputs),
            constants,
            variables,
            known,
        )

    def _needed(self, outputs: Sequence[int]) -> list[Draft]:
        needed, kept = set(outputs), []
        for draft in reversed(self.drafts):
            if needed.intersection(draft.outputs):
                needed.update(draft.inputs)
                kept.append(draft)
        return kept[::-1]

    def _name(self, kept: list[Draft], outputs: Sequence[int]) -> set[int]:
        """Name all values; return those whose name comes from the source."""
        given = set(self.names)
        taken = {self.names[i] for i in given if self.kinds[i] == INPUT}
        stacks = [draft.location.stack for draft in kept]
        made = [draft.outputs for draft in kept]
        names, chosen = name_steps(stacks, made, outputs, taken)
        constants = {i: self.names[i] for i in given if self.kinds[i] == CONSTANT}
        self.names |= names | numbered(constants, taken)
        return given | chosen


def _step(number: int, draft: Draft) -> Step:
    equation, location = draft.equation, draft.location
    return Step(
        number,
        step_name(equation),
        tuple(draft.inputs),
        tuple(draft.outputs),
        equation.params,
        rule_of(equation),
        location.stack,
        location.scope,
    )


@contextlib.contextmanager
def replaying():
    """A context for evaluating a program again, in which random keys may be reused."""
    with jax.debug_key_reuse(False):
        yield
