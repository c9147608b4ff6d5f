"""Primitives in the words of calculus: what a step computes, and its chain rule.

In the patterns `{a}`, `{b}`, `{c}` are the inputs, `{y}` the output and `{Y}` the
adjoint of the output. A rule says what is added to the adjoint of each input.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from likely.autodiff.program import Program, Step

Words = dict[str, tuple[str, tuple[str, ...]]]
Names = Sequence[str] | Mapping[int, str]

ELEMENTWISE: Words = {
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
"""Steps that act on each entry alone."""

STRUCTURE: Words = {
    "broadcast_in_dim": ("{a} repeated to {shape}", ("{Y} summed over the copies",)),
    "reshape": ("{a} as {shape}", ("{Y} as before",)),
    "squeeze": ("{a} as {shape}", ("{Y} as before",)),
    "expand_dims": ("{a} as {shape}", ("{Y} as before",)),
    "transpose": ("{a}ᵀ", ("{Y}ᵀ",)),
    "convert_element_type": ("{a} as {dtype}", ("{Y}",)),
}
"""Steps that only move or repeat entries."""

OTHER: Words = {
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

STRUCTURAL = (*STRUCTURE, "copy", "copy_p")


def formula(program: Program, step: Step, names: Names) -> str:
    """What a step computes, in terms of names of the values."""
    if step.name == "dot_general":
        return _product(program, step, names)
    if step.name == "integer_pow":
        return f"{names[step.inputs[0]]} ^ {step.params['y']}"
    found = _words(step.name)
    if found is None:
        inputs = ", ".join(names[i] for i in step.inputs)
        return f"{step.name.replace('_', ' ')}({inputs})"
    return _fill(program, step, names, found[0])


def rules(program: Program, step: Step, names: Names, bar: Callable) -> list[str]:
    """What each input's adjoint gains, in words; `bar` writes the adjoint of a name."""
    adjoint = bar(names[step.outputs[0]])
    if step.name == "dot_general":
        return _product_rules(program, step, names, adjoint)
    if step.name == "integer_pow":
        y, a = step.params["y"], names[step.inputs[0]]
        power = "" if y == 1 else f" · {y} {a}" + ("" if y == 2 else f" ^ {y - 1}")
        return [f"{adjoint}{power}"]
    found = _words(step.name)
    patterns = found[1] if found else ()
    general = f"{adjoint} times the derivative of {step.name}"
    if len(patterns) != len(step.inputs):
        return [general] * len(step.inputs)
    return [_fill(program, step, names, p, adjoint) or general for p in patterns]


def _words(name: str) -> tuple[str, tuple[str, ...]] | None:
    return next((d[name] for d in (ELEMENTWISE, STRUCTURE, OTHER) if name in d), None)


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


def product_kind(program: Program, step: Step) -> str | None:
    """`ab` where a step is the plain product of two vectors or matrices."""
    (left, right), batch = step.params["dimension_numbers"]
    a, b = (len(program.values[i].shape) for i in step.inputs)
    plain = not any(map(len, batch)) and len(left) == 1 and max(a, b) <= 2 and a and b
    return f"{a}{b}" if plain and left[0] == a - 1 and right[0] == 0 else None


def _product(program: Program, step: Step, names: Names) -> str:
    a, b = (names[i] for i in step.inputs)
    if product_kind(program, step):
        return f"{a} @ {b}"
    (left, right), (batch, _) = step.params["dimension_numbers"]
    each = f", for each of axis {_axes(batch)}" if len(batch) else ""
    return f"Σ {a} · {b} over axes {_axes(left)}; {_axes(right)}{each}"


def _axes(axes: Sequence[Any]) -> str:
    return ", ".join(str(int(axis)) for axis in axes) or "none"


def _product_rules(
    program: Program, step: Step, names: Names, adjoint: str
) -> list[str]:
    a, b = (names[i] for i in step.inputs)
    return {
        "22": [f"{adjoint} @ {b}ᵀ", f"{a}ᵀ @ {adjoint}"],
        "21": [f"{adjoint} {b}ᵀ (column times row)", f"{a}ᵀ @ {adjoint}"],
        "12": [f"{b} @ {adjoint}", f"{a} {adjoint}ᵀ (column times row)"],
        "11": [f"{adjoint} · {b}", f"{adjoint} · {a}"],
    }.get(
        product_kind(program, step) or "",
        [f"{adjoint} multiplied by {b}", f"{adjoint} multiplied by {a}"],
    )
