r"""Symbolic differentiation of scalar expressions with shared subexpressions.

An expression is a graph: equal subexpressions are the same object, so a derivative
reuses the subexpressions of the function. Written out as a formula it would repeat them,
and for repeated products grow exponentially; compare `tree_size` with `size`. The `str` of
an expression is valid SymPy (`sympy.sympify(str(e))`), for further algebra.
"""

import math
import weakref
from collections.abc import Callable
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
            if node.op == "symbol":
                slopes[id(node)] = constant(float(node.payload == name))
                continue
            total = constant(0.0)
            for inner, rule in zip(node.inputs, _rules(node), strict=True):
                slope = slopes[id(inner)]
                if slope.payload != 0.0 or slope.op != "number":
                    total = total + rule() * slope
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
                results[id(node)] = _VALUES[node.op](library, *inputs)
        return results[id(self)]

    def program(self) -> str:
        """The expression as a program, with one line for each shared subexpression."""
        text: dict[int, str] = {}
        lines = []
        uses: dict[int, int] = {}
        for node in self.nodes():
            for inner in node.inputs:
                uses[id(inner)] = uses.get(id(inner), 0) + 1
        for node in self.nodes():
            shown = _text(node, text)
            shared = uses.get(id(node), 0) > 1 and node.inputs
            if shared:
                lines.append(f"t{len(lines) + 1} = {shown}")
                shown = f"t{len(lines)}"
            wrapped = node.op in _INFIX and not shared
            text[id(node)] = f"({shown})" if wrapped else shown
        return "\n".join([*lines, _bare(text[id(self)])])

    def __str__(self) -> str:
        text: dict[int, str] = {}
        for node in self.nodes():
            shown = _text(node, text)
            text[id(node)] = f"({shown})" if node.op in _INFIX else shown
        return _bare(text[id(self)])

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
        return self if _is(b, 1) else apply("div", self, b)

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


def apply(op: str, *inputs: Expression) -> Expression:
    """An operation; evaluated at once if all its inputs are numbers."""
    if all(node.op == "number" for node in inputs):
        value = float(_VALUES[op](np, *(node.payload for node in inputs)))
        if math.isfinite(value):
            return constant(value)
    return Expression(op, inputs)


_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "neg": "-"}
_VALUES: dict[str, Callable] = {
    "add": lambda m, a, b: a + b,
    "sub": lambda m, a, b: a - b,
    "mul": lambda m, a, b: a * b,
    "div": lambda m, a, b: a / b,
    "pow": lambda m, a, b: a**b,
    "neg": lambda m, a: -a,
    "sin": lambda m, a: m.sin(a),
    "cos": lambda m, a: m.cos(a),
    "tan": lambda m, a: m.tan(a),
    "exp": lambda m, a: m.exp(a),
    "log": lambda m, a: m.log(a),
    "sqrt": lambda m, a: m.sqrt(a),
    "tanh": lambda m, a: m.tanh(a),
}


def _function(op: str) -> Callable[[Operand], Expression]:
    def function(a: Operand) -> Expression:
        return apply(op, constant(a))

    function.__doc__ = f"{op} of an expression."
    function.__name__ = function.__qualname__ = op
    return function


sin, cos, tan, exp, log, sqrt, tanh = map(
    _function, ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh")
)


def _rules(y: Expression) -> tuple[Callable[[], Expression], ...]:
    """∂y/∂(each input), as functions, so that only needed ones are built."""
    a = y.inputs[0] if y.inputs else y
    b = y.inputs[1] if len(y.inputs) > 1 else a
    table: dict[str, tuple[Callable[[], Expression], ...]] = {
        "add": (lambda: constant(1), lambda: constant(1)),
        "sub": (lambda: constant(1), lambda: constant(-1)),
        "mul": (lambda: b, lambda: a),
        "div": (lambda: 1 / b, lambda: -(y / b)),
        "pow": (lambda: b * a ** (b - 1), lambda: y * log(a)),
        "neg": (lambda: constant(-1),),
        "sin": (lambda: cos(a),),
        "cos": (lambda: -sin(a),),
        "tan": (lambda: 1 + y * y,),
        "exp": (lambda: y,),
        "log": (lambda: 1 / a,),
        "sqrt": (lambda: 1 / (2 * y),),
        "tanh": (lambda: 1 - y * y,),
    }
    return table.get(y.op, ())


def _text(node: Expression, text: dict[int, str]) -> str:
    inputs = [text[id(i)] for i in node.inputs]
    if node.op == "symbol":
        return node.payload
    if node.op == "number":
        return f"{node.payload:g}" if node.payload >= 0 else f"({node.payload:g})"
    if node.op == "neg":
        return f"-{inputs[0]}"
    if node.op in _INFIX:
        return f" {_INFIX[node.op]} ".join(inputs)
    return f"{node.op}({_bare(inputs[0])})"


def _bare(text: str) -> str:
    """The text without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
