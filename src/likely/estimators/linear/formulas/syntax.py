"""What a formula may say: columns, numbers, arithmetic and functions of a fixed list.

formulaic evaluates the parts of a formula as Python, and a formula may come from a file.
So each part is read first, and refused where it is more than arithmetic on columns: it
cannot reach a file, a module or an attribute.
"""

import ast
from typing import Any

import numpy as np

from likely.core.checks import InputError

ELEMENTWISE = """
    abs arccos arcsin arctan arctanh cbrt ceil cos cosh exp exp2 expm1 floor log log10
    log1p log2 maximum minimum rint sign sin sinh sqrt square tan tanh
"""
"""Functions of NumPy that formulas may use without the prefix `np.`."""
BASES = "C I Q bs cc center cr cs poly scale standardize"
"""Functions that make columns of categories, curves and centred numbers."""
OTHERS = "clip exp10 where"
CODINGS = "Treatment Sum Helmert Diff Poly"
CONTRASTS = "helmert poly sum treatment SAS diff custom"
"""How categories become columns, the second argument of `C`; contrasts after `contr.`."""
FUNCTIONS = frozenset(f"{ELEMENTWISE} {BASES} {OTHERS}".split())
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor, ast.USub, ast.UAdd, ast.Invert,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
MAX_CONSTANT_POWER = 100


def variables_of(parts: Any, text: str) -> list[str]:
    """The columns that parts of a formula need; parts that formulas may not have are refused.

    Args:
        parts: the terms of one side of a parsed formula.
        text: the formula, for sentences.
    """
    found: list[str] = []
    for factor in (factor for term in parts for factor in term.factors):
        method = factor.eval_method.value
        if method == "lookup":
            found.append(factor.expr)
        elif method == "python":
            found += _Reading(text).variables(factor.expr)
    return list(dict.fromkeys(found))


class _Reading:
    """One pass over an expression, which collects the columns it names."""

    def __init__(self, text: str):
        self.text, self.names = text, []
        self.quoted: dict[str, str] = {}

    def variables(self, expression: str) -> list[str]:
        """The columns of an expression, once all of it was found to be allowed."""
        from formulaic.utils.code import sanitize_variable_names

        code = sanitize_variable_names(expression, {}, self.quoted)
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError as error:
            raise self._error(f"{expression!r} is no expression") from error
        self._read(tree.body)
        return self.names

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self.names.append(self.quoted.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            self._read_call(node)
        elif isinstance(node, ast.BinOp):
            self._read_operation(node)
        elif isinstance(node, ast.UnaryOp):
            self._check_operator(node.op)
            self._read(node.operand)
        elif isinstance(node, ast.Compare):
            for operator in node.ops:
                self._check_operator(operator)
            self._read_all([node.left, *node.comparators])
        elif isinstance(node, ast.List | ast.Tuple | ast.Dict):
            self._read_all(list(ast.iter_child_nodes(node)))
        elif not _is_plain(node):
            raise self._error(f"it has {ast.unparse(node)!r}")

    def _read_all(self, nodes: list[Any]) -> None:
        for node in nodes:
            self._read(node)

    def _read_call(self, node: ast.Call) -> None:
        name = self._function(node.func)
        if any(k.arg is None or k.arg.startswith("_") for k in node.keywords):
            raise self._error(f"it has {ast.unparse(node)!r}")
        if name == "Q":
            if len(node.args) != 1 or not isinstance(node.args[0], ast.Constant):
                raise self._error("Q takes the name of a column in quotes")
            self.names.append(str(node.args[0].value))
            return
        arguments = [*node.args, *(k.value for k in node.keywords)]
        for position, argument in enumerate(arguments):
            if not (name == "C" and position and self._is_coding(argument)):
                self._read(argument)

    def _read_operation(self, node: ast.BinOp) -> None:
        self._check_operator(node.op)
        for side in (node.left, node.right):
            text = isinstance(side, ast.Constant) and not isinstance(
                side.value, int | float
            )
            if text or isinstance(side, ast.List | ast.Tuple | ast.Dict):
                raise self._error(f"it calculates with {ast.unparse(side)!r}")
        before = len(self.names)
        self._read_all([node.left, node.right])
        if isinstance(node.op, ast.Pow) and len(self.names) == before:
            base, power = node.left, node.right
            small = isinstance(base, ast.Constant) and isinstance(power, ast.Constant)
            if not (small and abs(power.value) <= MAX_CONSTANT_POWER):  # pyright: ignore
                raise self._error(f"it has the number {ast.unparse(node)!r}")

    def _function(self, node: ast.AST) -> str:
        """The name of a function that formulas may use."""
        if isinstance(node, ast.Name) and node.id in FUNCTIONS:
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            function = getattr(np, node.attr, None) if node.value.id == "np" else None
            if isinstance(function, np.ufunc) or function in (np.where, np.clip):
                return node.attr
        raise self._error(
            f"{ast.unparse(node)!r} is not among its functions, which are "
            f"{', '.join(sorted(FUNCTIONS))}, and those of NumPy that act on each number"
        )

    def _is_coding(self, node: ast.AST) -> bool:
        """Whether this is a coding of categories, such as `contr.sum` or `Treatment("a")`."""
        if isinstance(node, ast.Call):
            self._read_all([*node.args, *(k.value for k in node.keywords)])
            node = node.func
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id == "contr" and node.attr in CONTRASTS.split()
        return isinstance(node, ast.Name) and node.id in CODINGS.split()

    def _check_operator(self, operator: ast.AST) -> None:
        if not isinstance(operator, _OPERATORS):
            raise self._error(f"it has the operator {type(operator).__name__}")

    def _error(self, reason: str) -> InputError:
        return InputError(
            f"the formula {self.text!r} says more than a formula may: {reason}. "
            "Compute such a column in the frame first."
        )


def _is_plain(node: ast.AST) -> bool:
    """Whether this is a number, text, a truth value or None."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str | None)
    return isinstance(node, ast.expr_context)
