"""The formula of each primitive and its chain rule, as text.

In the patterns `{a}`, `{b}`, `{c}` are the inputs, `{y}` the output and `{Y}` the
adjoint of the output. A rule says what is added to the adjoint of each input.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from likely.autodiff.program.program import Program, Step

Patterns = dict[str, tuple[str, tuple[str, ...]]]
Names = Sequence[str] | Mapping[int, str]

ELEMENTWISE: Patterns = {
    "add": ("{a} + {b}", ("{Y}", "{Y}")),
    "add_any": ("{a} + {b}", ("{Y}", "{Y}")),
    "sub": ("{a} − {b}", ("{Y}", "−{Y}")),
    "mul": ("{a} · {b}", ("{Y} · {b}", "{Y} · {a}")),
    "div": ("{a} / {b}", ("{Y} / {b}", "−{Y} · {a} / {b}²")),
    "neg": ("−{a}", ("−{Y}",)),
    "max": ("max({a}, {b})", ("{Y} · 1[{a} > {b}]", "{Y} · 1[{b} > {a}]")),
    "min": ("min({a}, {b})", ("{Y} · 1[{a} < {b}]", "{Y} · 1[{b} < {a}]")),
    "pow": (
        "{a} ^ {b}",
        ("{Y} · {b} · {a} ^ ({b} − 1)", "{Y} · {y} · log {a}"),
    ),
    "square": ("{a}²", ("{Y} · 2 {a}",)),
    "sqrt": ("√{a}", ("{Y} / (2 {y})",)),
    "rsqrt": ("1/√{a}", ("−{Y} · {y}³ / 2",)),
    "cbrt": ("∛{a}", ("{Y} / (3 {y}²)",)),
    "exp": ("exp({a})", ("{Y} · {y}",)),
    "exp2": ("2 ^ {a}", ("{Y} · {y} · log 2",)),
    "expm1": ("exp({a}) − 1", ("{Y} · ({y} + 1)",)),
    "log": ("log({a})", ("{Y} / {a}",)),
    "log1p": ("log(1 + {a})", ("{Y} / (1 + {a})",)),
    "sin": ("sin({a})", ("{Y} · cos({a})",)),
    "cos": ("cos({a})", ("−{Y} · sin({a})",)),
    "tan": ("tan({a})", ("{Y} · (1 + {y}²)",)),
    "asin": ("asin({a})", ("{Y} / √(1 − {a}²)",)),
    "acos": ("acos({a})", ("−{Y} / √(1 − {a}²)",)),
    "atan": ("atan({a})", ("{Y} / (1 + {a}²)",)),
    "sinh": ("sinh({a})", ("{Y} · cosh({a})",)),
    "cosh": ("cosh({a})", ("{Y} · sinh({a})",)),
    "tanh": ("tanh({a})", ("{Y} · (1 − {y}²)",)),
    "logistic": ("σ({a})", ("{Y} · {y} (1 − {y})",)),
    "sigmoid": ("σ({a})", ("{Y} · {y} (1 − {y})",)),
    "relu": ("max(0, {a})", ("{Y} · 1[{a} > 0]",)),
    "softplus": ("log(1 + exp({a}))", ("{Y} · σ({a})",)),
    "silu": ("{a} · σ({a})", ("{Y} · (σ({a}) + {y} (1 − σ({a})))",)),
    "abs": ("|{a}|", ("{Y} · sign({a})",)),
    "sign": ("sign({a})", ("0",)),
    "erf": ("erf({a})", ("{Y} · 2 exp(−{a}²) / √π",)),
    "copy": ("{a}", ("{Y}",)),
    "copy_p": ("{a}", ("{Y}",)),
    "stop_gradient": ("{a}, held constant", ("0",)),
    "where": ("{b} where {a}, else {c}", ("", "{Y} where {a}", "{Y} where not {a}")),
    "select_n": ("{c} where {a}, else {b}", ("", "{Y} where not {a}", "{Y} where {a}")),
    "gt": ("{a} > {b}", ()),
    "lt": ("{a} < {b}", ()),
    "ge": ("{a} ≥ {b}", ()),
    "le": ("{a} ≤ {b}", ()),
    "eq": ("{a} = {b}", ()),
    "ne": ("{a} ≠ {b}", ()),
    "and": ("{a} and {b}", ()),
    "or": ("{a} or {b}", ()),
    "not": ("not {a}", ()),
    "is_finite": ("is finite: {a}", ()),
}
"""Steps that act elementwise."""

STRUCTURE: Patterns = {
    "broadcast_in_dim": ("{a} repeated to {shape}", ("{Y} summed over the copies",)),
    "reshape": ("{a} as {shape}", ("{Y} as before",)),
    "squeeze": ("{a} as {shape}", ("{Y} as before",)),
    "expand_dims": ("{a} as {shape}", ("{Y} as before",)),
    "transpose": ("{a}ᵀ", ("{Y}ᵀ",)),
    "optimization_barrier": ("{a}", ("{Y}",)),
    "convert_element_type": ("{a} as {dtype}", ("{Y}",)),
}
"""Steps that only move or repeat entries."""

OTHER: Patterns = {
    "reduce_sum": ("Σ {a}{over}", ("{Y} copied to every term",)),
    "reduce_max": ("max {a}{over}", ("{Y} to the largest entry",)),
    "reduce_min": ("min {a}{over}", ("{Y} to the smallest entry",)),
    "reduce_prod": ("Π {a}{over}", ("{Y} · {y} / {a}",)),
    "cumsum": ("running sum of {a}", ("running sum of {Y} from the end",)),
    "slice": ("a part of {a}", ("{Y} in its place, 0 elsewhere",)),
    "concatenate": ("{all} joined", ()),
    "rev": ("{a} reversed", ("{Y} reversed",)),
    "iota": ("0, 1, 2, …", ()),
    "gather": ("entries of {a}", ("{Y} added in their places",)),
    "row": ("{a}[{b}]", ("{Y} in its place, 0 elsewhere", "")),
    "stack": ("{all} stacked", ()),
    "dynamic_slice": ("a part of {a}", ("{Y} in its place, 0 elsewhere",)),
}

PRODUCTS: Patterns = {
    "22": ("{a} @ {b}", ("{Y} @ {b}ᵀ", "{a}ᵀ @ {Y}")),
    "21": ("{a} @ {b}", ("{Y} {b}ᵀ (column times row)", "{a}ᵀ @ {Y}")),
    "12": ("{a} @ {b}", ("{b} @ {Y}", "{a} {Y}ᵀ (column times row)")),
    "11": ("{a} @ {b}", ("{Y} · {b}", "{Y} · {a}")),
}
"""Products of vectors (1) and matrices (2)."""

STRUCTURAL = (*STRUCTURE, "copy", "copy_p")


def formula(program: Program, step: Step, names: Names) -> str:
    """The formula of a step in the names of its values."""
    return _fill(program, step, names, _patterns(program, step)[0])


def rules(program: Program, step: Step, names: Names, adjoint: str) -> list[str]:
    """The contribution to each input's adjoint, in names and the output's adjoint."""
    _, patterns = _patterns(program, step)
    general = f"{{Y}} times the derivative of {step.name}"
    if len(patterns) != len(step.inputs):
        patterns = ("",) * len(step.inputs)
    return [_fill(program, step, names, p or general, adjoint) for p in patterns]


def product_kind(program: Program, step: Step) -> str:
    """The key in `PRODUCTS` of the plain product of two vectors or matrices, or ""."""
    if step.name != "dot_general":
        return ""
    (left, right), batch = step.params["dimension_numbers"]
    a, b = (len(program.values[i].shape) for i in step.inputs)
    plain = not any(map(len, batch)) and len(left) == 1 and max(a, b) <= 2
    return f"{a}{b}" if plain and left[0] == a - 1 and right[0] == 0 else ""


def _patterns(program: Program, step: Step) -> tuple[str, tuple[str, ...]]:
    """The patterns of a step: its formula and its chain rule."""
    kind = product_kind(program, step)
    if kind:
        return PRODUCTS[kind]
    if step.name == "dot_general":
        return _contraction(step)
    if step.name == "integer_pow":
        return _power(step.params["y"])
    for patterns in (ELEMENTWISE, STRUCTURE, OTHER):
        if step.name in patterns:
            return patterns[step.name]
    return f"{step.name.replace('_', ' ')}({{all}})", ()


def _contraction(step: Step) -> tuple[str, tuple[str, ...]]:
    (left, right), (batch, _) = step.params["dimension_numbers"]
    each = f", for each of axis {_axes(batch)}" if len(batch) else ""
    text = f"Σ {{a}} · {{b}} over axes {_axes(left)}; {_axes(right)}{each}"
    return text, ("{Y} multiplied by {b}", "{Y} multiplied by {a}")


def _power(y: int) -> tuple[str, tuple[str, ...]]:
    return f"{{a}} ^ {y}", (f"{{Y}} · {y} {{a}}" + ("" if y == 2 else f" ^ {y - 1}"),)


def _axes(axes: Sequence[Any]) -> str:
    return ", ".join(str(int(axis)) for axis in axes) or "none"


def _fill(
    program: Program, step: Step, names: Names, pattern: str, adjoint: str = ""
) -> str:
    out = program.values[step.outputs[0]]
    axes = step.params.get("axes") or ()
    whole = not axes or len(axes) == len(program.values[step.inputs[0]].shape)
    inputs = dict(zip("abc", (names[i] for i in step.inputs), strict=False))
    for letter, name in inputs.items():
        if name.startswith("("):  # f((a + b)) is f(a + b)
            pattern = pattern.replace(f"({{{letter}}})", f"{{{letter}}}")
    return pattern.format(
        **inputs,
        y=names[out.index],
        Y=adjoint,
        shape=out.shape,
        dtype=out.dtype,
        over="" if whole else f" over axis {', '.join(map(str, axes))}",
        all=", ".join(names[i] for i in step.inputs),
    )
