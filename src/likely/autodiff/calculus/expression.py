r"""Symbolic differentiation of scalar expressions with shared subexpressions.

An expression is a graph: equal subexpressions are the same object, so a derivative
reuses the subexpressions of the function. Written out as a formula it would repeat them,
and for repeated products grow exponentially; compare `tree_size` with `size`. The `str` of
an expression is valid SymPy (`sympy.sympify(str(e))`), for further algebra.
"""

import math
import operator
import weakref
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Union

import jax
import jax.numpy as jnp
import numpy as np

from likely.core.checks import InputError

Operand = Union["Expression", int, float]


class Expression:
    """A symbol, a number, or an operation on expressions; equal ones are identical."""

    __slots__ = ("__weakref__", "inputs", "op", "payload")
    _known: "weakref.WeakValueDictionary[tuple, Expression]" = (
        weakref.WeakValueDictionary()
    )

    def __new__(
        cls, op: str, inputs: tuple["Expression", ...] = (), payload: Any = None
    ):
        """The existing expression with these parts, or a new one."""
        key = (op, tuple(map(id, inputs)), payload)
        found = cls._known.get(key)
        if found is None:
            found = super().__new__(cls)
            found.op, found.inputs, found.payload = op, inputs, payload
            cls._known[key] = found
        return found

    def derivative(self, by: "Expression | str") -> "Expression":
        """The derivative d self / d by, with shared subexpressions."""
        name = by if isinstance(by, str) else by.payload
        slopes: dict[int, Expression] = {}
        for node in self.nodes():
            total = constant(float(node.op == "symbol" and node.payload == name))
            rules = _RULES.get(node.op, ())
            for inner, rule in zip(node.inputs, rules, strict=True):
                if not _is(slopes[id(inner)], 0):  # only needed rules are applied
                    total = total + rule(node, *node.inputs) * slopes[id(inner)]
            slopes[id(node)] = total
        return slopes[id(self)]

    def nodes(self) -> list["Expression"]:
        """Every subexpression once, inputs before the expressions that use them."""
        found: dict[int, Expression] = {}
        waiting: list[tuple[Expression, bool]] = [(self, False)]
        while waiting:
            node, ready = waiting.pop()
            if ready:
                found[id(node)] = node
            elif id(node) not in found:
                waiting.append((node, True))
                waiting += [(i, False) for i in node.inputs if id(i) not in found]
        return list(found.values())

    @property
    def size(self) -> int:
        """The number of operations, with shared ones counted once."""
        return sum(node.op not in ("symbol", "number") for node in self.nodes())

    @property
    def tree_size(self) -> int:
        """The number of operations in the formula written out."""
        sizes: dict[int, int] = {}
        for node in self.nodes():
            own = int(node.op not in ("symbol", "number"))
            sizes[id(node)] = own + sum(sizes[id(i)] for i in node.inputs)
        return sizes[id(self)]

    def __call__(self, **values: Any) -> Any:
        """The value of the expression for these values of its symbols."""
        library = jnp if any(isinstance(v, jax.Array) for v in values.values()) else np
        results: dict[int, Any] = {}
        for node in self.nodes():
            inputs = [results[id(i)] for i in node.inputs]
            if node.op == "symbol":
                if node.payload not in values:
                    raise InputError(f"give a value for {node.payload}.")
                results[id(node)] = values[node.payload]
            elif node.op == "number":
                results[id(node)] = node.payload
            else:
                results[id(node)] = _value(node.op, library, *inputs)
        return results[id(self)]

    def program(self) -> str:
        """The expression as a program, with one line for each shared subexpression."""
        uses = Counter(id(inner) for node in self.nodes() for inner in node.inputs)
        return "\n".join(self._lines({i for i, count in uses.items() if count > 1}))

    def __str__(self) -> str:
        return self._lines(set())[-1]

    def _lines(self, shared: set[int]) -> list[str]:
        """A line for each operation in `shared`, and one for the whole."""
        text: dict[int, str] = {}
        lines: list[str] = []
        for node in self.nodes():
            text[id(node)] = _text(node, text)
            if id(node) in shared and node.inputs:
                lines.append(f"t{len(lines) + 1} = {text[id(node)]}")
                text[id(node)] = f"t{len(lines)}"
        return [*lines, text[id(self)]]

    def __repr__(self) -> str:
        return str(self)

    def __add__(self, other: Operand) -> "Expression":
        a, b = self, constant(other)
        if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        return apply("add", a, b)

    def __mul__(self, other: Operand) -> "Expression":
        a, b = self, constant(other)
        if _is(a, 0) or _is(b, 0):
            return constant(0.0)
        if _is(a, 1) or _is(b, 1):
            return b if _is(a, 1) else a
        if _is(a, -1) or _is(b, -1):
            return -b if _is(a, -1) else -a
        return apply("mul", a, b)

    def __truediv__(self, other: Operand) -> "Expression":
        b = constant(other)
        return self if _is(b, 1) else apply("truediv", self, b)

    def __pow__(self, other: Operand) -> "Expression":
        b = constant(other)
        if _is(b, 0) or _is(b, 1):
            return self if _is(b, 1) else constant(1.0)
        return apply("pow", self, b)

    def __neg__(self) -> "Expression":
        return self.inputs[0] if self.op == "neg" else apply("neg", self)

    def __sub__(self, other: Operand) -> "Expression":
        b = constant(other)
        return self if _is(b, 0) else apply("sub", self, b)

    def __radd__(self, other: Operand) -> "Expression":
        return constant(other) + self

    def __rmul__(self, other: Operand) -> "Expression":
        return constant(other) * self

    def __rsub__(self, other: Operand) -> "Expression":
        return constant(other) - self

    def __rtruediv__(self, other: Operand) -> "Expression":
        return constant(other) / self

    def __rpow__(self, other: Operand) -> "Expression":
        return constant(other) ** self


def symbol(name: str) -> Expression:
    """A variable."""
    return Expression("symbol", (), name)


def constant(value: Operand) -> Expression:
    """A number as an expression."""
    if isinstance(value, Expression):
        return value
    return Expression("number", (), float(value))


def _is(node: Expression, value: int) -> bool:
    return node.op == "number" and node.payload == value


def apply(op: str, *inputs: Operand) -> Expression:
    """An operation; evaluated at once if all its inputs are numbers."""
    operands = tuple(map(constant, inputs))
    if all(node.op == "number" for node in operands):
        value = float(_value(op, np, *(node.payload for node in operands)))
        if math.isfinite(value):
            return constant(value)
    return Expression(op, operands)


_INFIX = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "neg": "-"}
FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh")
sin, cos, tan, exp, log, sqrt, tanh = (partial(apply, op) for op in FUNCTIONS)


def _value(op: str, library: Any, *inputs: Any) -> Any:
    """The value of an operator, or of a function of NumPy or JAX."""
    return getattr(operator if op in _INFIX else library, op)(*inputs)


_RULES: dict[str, tuple[Callable[..., Expression], ...]] = {
    "add": (lambda y, a, b: constant(1), lambda y, a, b: constant(1)),
    "sub": (lambda y, a, b: constant(1), lambda y, a, b: constant(-1)),
    "mul": (lambda y, a, b: b, lambda y, a, b: a),
    "truediv": (lambda y, a, b: 1 / b, lambda y, a, b: -(y / b)),
    "pow": (lambda y, a, b: b * a ** (b - 1), lambda y, a, b: y * log(a)),
    "neg": (lambda y, a: constant(-1),),
    "sin": (lambda y, a: cos(a),),
    "cos": (lambda y, a: -sin(a),),
    "tan": (lambda y, a: 1 + y * y,),
    "exp": (lambda y, a: y,),
    "log": (lambda y, a: 1 / a,),
    "sqrt": (lambda y, a: 1 / (2 * y),),
    "tanh": (lambda y, a: 1 - y * y,),
}
"""∂y/∂(each input), as functions of y and the inputs."""


def _text(node: Expression, text: dict[int, str]) -> str:
    """The text of a node; operands that are operations themselves get parentheses."""
    if not node.inputs:
        return node.payload if node.op == "symbol" else f"{node.payload:g}"
    if node.op not in _INFIX:
        return f"{node.op}({text[id(node.inputs[0])]})"
    operands = []
    for inner in node.inputs:
        shown = text[id(inner)]
        plain = inner.op not in _INFIX or shown.isidentifier()  # t1, t2 ... are
        operands.append(shown if plain and not shown.startswith("-") else f"({shown})")
    sign = _INFIX[node.op]
    return f"{sign}{operands[0]}" if node.op == "neg" else f" {sign} ".join(operands)
