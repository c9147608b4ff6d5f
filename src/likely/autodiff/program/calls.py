"""Equations that contain others: calls, custom derivatives, loops and branches.

| option | what is stepped into |
|---|---|
| `jit` | functions that were compiled or checkpointed with `jax.jit`, `jax.checkpoint` |
| `library` | compiled functions of JAX itself (`where`, `softplus`, `norm` ...) |
| `custom` | functions with a custom derivative, which is then not used |
| `scan`, `while`, `cond` | the iterations of a loop, the branch that is taken |
"""

from collections.abc import Iterable, Sequence
from typing import Any

from likely.autodiff.program.source import is_jax
from likely.core.checks import InputError

OPTIONS = ("jit", "library", "custom", "scan", "while", "cond")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2")
PRODUCTS = ("dot_general", "conv_general_dilated")
_CUSTOM = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
IGNORED = ("debug_callback", "debug_print")


def step_into_options(step_into: str | Iterable[str]) -> frozenset[str]:
    """The options of `step_into`, checked; `"all"` is every option."""
    options = {step_into} if isinstance(step_into, str) else set(step_into)
    if "all" in options:
        return frozenset(OPTIONS)
    if options - set(OPTIONS):
        raise InputError(
            f"step_into has the unknown option {sorted(options - set(OPTIONS))[0]!r}; "
            f"give any of {', '.join(OPTIONS)}, or 'all'."
        )
    return frozenset(options)


def needs_data(options: frozenset[str]) -> bool:
    """Whether unrolling depends on values: the iterations of a while loop, a branch."""
    return bool(options & {"while", "cond"})


def option_of(equation: Any) -> str | None:
    """The option that steps into an equation, or None if it contains no others."""
    name = equation.primitive.name
    if name in _CALLS:
        source = inner_jaxpr(equation)[0].debug_info.func_src_info or ""
        return "library" if is_jax(source) else "jit"
    if name in _CUSTOM:
        return "custom"
    return name if name in ("scan", "while", "cond") else None


def is_product(equation: Any) -> bool:
    """Whether an equation is a single product with a custom derivative."""
    if equation.primitive.name not in _CUSTOM:
        return False
    inside = inner_jaxpr(equation)[0].eqns
    return len(inside) == 1 and inside[0].primitive.name in PRODUCTS


def inner_jaxpr(equation: Any) -> tuple[Any, Sequence[Any]]:
    """The jaxpr of a call, and its constants."""
    params = equation.params
    return opened(params.get("jaxpr", params.get("call_jaxpr")))


def opened(inner: Any) -> tuple[Any, Sequence[Any]]:
    """A jaxpr and its constants; versions of JAX store it with them or without."""
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())


def step_name(equation: Any) -> str:
    """The name of the primitive, or of the function that it calls."""
    name = equation.params.get("name")
    if equation.primitive.name in (*_CALLS, *_CUSTOM):
        if not name:
            source = inner_jaxpr(equation)[0].debug_info.func_src_info or ""
            name = source.partition(" at ")[0]
        return (name or equation.primitive.name).strip("_")
    return equation.primitive.name


def changes_nothing(equation: Any) -> bool:
    """Whether an equation converts a value to the type it already has."""
    if equation.primitive.name != "convert_element_type":
        return False
    return equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype
