"""From a jaxpr to a program: equations become steps, or the steps inside them."""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core

from likely.autodiff.calls import (
    SILENT,
    changes_nothing,
    is_product,
    needs_data,
    step_name,
    word_of,
)
from likely.autodiff.naming import name_steps, numbered
from likely.autodiff.program import CONSTANT, INPUT, LITERAL, STEP, Program, Step, Value
from likely.autodiff.rules import rule_of
from likely.autodiff.source import Stack, stack_of
from likely.autodiff.text import number
from likely.autodiff.unrolling import EXPANSIONS


class Place(NamedTuple):
    """Where in the source, and in which turn of which loop, steps are being added."""

    stack: Stack = Stack()
    scope: tuple[str, ...] = ()

    def within(self, word: str) -> "Place":
        """The same place, one loop further in."""
        return Place(self.stack, (*self.scope, word))


class Draft(NamedTuple):
    """A step before it has a number."""

    equation: Any
    inputs: list[int]
    outputs: list[int]
    place: Place


class Builder:
    """Collects values and steps while it walks through a jaxpr."""

    def __init__(self, words: frozenset[str], limit: int):
        self.words, self.limit = words, limit
        self.avals: list[Any] = []
        self.kinds: list[str] = []
        self.names: dict[int, str] = {}
        self.data: dict[int, Any] = {}
        self.drafts: list[Draft] = []

    def value(self, aval: Any, kind: str, name: str | None = None) -> int:
        """A new value."""
        self.avals.append(aval)
        self.kinds.append(kind)
        index = len(self.avals) - 1
        if name is not None:
            self.names[index] = name
        return index

    def constant(self, data: Any, kind: str, name: str) -> int:
        """A new value whose data are known."""
        index = self.value(jax.typeof(data), kind, name)
        self.data[index] = data
        return index

    def inline(
        self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[int], at: Place
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
            if equation.primitive.name in SILENT:
                continue
            inputs = [read(atom) for atom in equation.invars]
            place = Place(stack_of(equation).inside(at.stack), at.scope)
            env |= zip(equation.outvars, self.add(equation, inputs, place), strict=True)
        return [read(atom) for atom in jaxpr.outvars]

    def add(self, equation: Any, inputs: list[int], at: Place) -> list[int]:
        """Add an equation as one step, or as the steps inside it."""
        if changes_nothing(equation):
            return inputs
        word = word_of(equation)
        if word and (word in self.words or is_product(equation)):
            return EXPANSIONS[word](self, equation, inputs, at)
        return self.emit(equation, inputs, at)

    def emit(self, equation: Any, inputs: list[int], at: Place) -> list[int]:
        """Add an equation as one step."""
        outputs = [self.value(v.aval, STEP) for v in equation.outvars]
        self.drafts.append(Draft(equation, inputs, outputs, at))
        if needs_data(self.words):
            data = [self.data[i] for i in inputs]
            self.data |= zip(outputs, rule_of(equation).evaluate(data), strict=True)
        return outputs

    def program(
        self, inputs: Sequence[int], outputs: Sequence[int], variables: frozenset[int]
    ) -> Program:
        """What was collected, with names, without the steps that no output needs."""
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
        """Name all values; the ones that have an author's name."""
        given = set(self.names)
        taken = {self.names[i] for i in given if self.kinds[i] == INPUT}
        stacks = [draft.place.stack for draft in kept]
        made = [draft.outputs for draft in kept]
        names, chosen = name_steps(stacks, made, outputs, taken)
        constants = {i: self.names[i] for i in given if self.kinds[i] == CONSTANT}
        self.names |= names | numbered(constants, taken)
        return given | chosen


def _step(number: int, draft: Draft) -> Step:
    equation, place = draft.equation, draft.place
    return Step(
        number,
        step_name(equation),
        tuple(draft.inputs),
        tuple(draft.outputs),
        equation.params,
        rule_of(equation),
        place.stack,
        place.scope,
    )


@contextlib.contextmanager
def replaying():
    """The scope for evaluating a program again: the same random keys are meant."""
    with jax.debug_key_reuse(False):
        yield
