"""Equations that contain others: calls, custom derivatives, loops and branches.

| word | what is stepped into |
|---|---|
| `jit` | functions that were compiled or checkpointed with `jax.jit`, `jax.checkpoint` |
| `library` | the same where the function is JAX's own (`where`, `softplus`, `norm` ...) |
| `custom` | functions with a derivative of their own; their rule is then not used |
| `scan`, `while`, `cond` | the turns a loop takes, the branch that is taken |
"""

from collections.abc import Iterable, Sequence
from typing import Any

from likely.autodiff.source import is_jax
from likely.core.checks import InputError

WORDS = ("jit", "library", "custom", "scan", "while", "cond")
_CALLS = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2")
PRODUCTS = ("dot_general", "conv_general_dilated")
_CUSTOM = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
SILENT = ("debug_callback", "debug_print")


def words_of(step_into: str | Iterable[str]) -> frozenset[str]:
    """The words of `step_into`, checked; `"all"` is every word."""
    words = {step_into} if isinstance(step_into, str) else set(step_into)
    if "all" in words:
        return frozenset(WORDS)
    if words - set(WORDS):
        raise InputError(
            f"step_into has the word {sorted(words - set(WORDS))[0]!r}; "
            f"give any of {', '.join(WORDS)}, or 'all'."
        )
    return frozenset(words)


def needs_data(words: frozenset[str]) -> bool:
    """Whether unrolling depends on numbers: how often, which branch."""
    return bool(words & {"while", "cond"})


def word_of(equation: Any) -> str | None:
    """The word that steps into an equation, or None where there is nothing inside."""
    name = equation.primitive.name
    if name in _CALLS:
        source = inner_jaxpr(equation)[0].debug_info.func_src_info or ""
        return "library" if is_jax(source) else "jit"
    if name in _CUSTOM:
        return "custom"
    return name if name in ("scan", "while", "cond") else None


def is_product(equation: Any) -> bool:
    """Whether it is nothing but a product, with a derivative written for speed."""
    if equation.primitive.name not in _CUSTOM:
        return False
    inside = inner_jaxpr(equation)[0].eqns
    return len(inside) == 1 and inside[0].primitive.name in PRODUCTS


def inner_jaxpr(equation: Any) -> tuple[Any, Sequence[Any]]:
    """The jaxpr of a call, and its constants."""
    params = equation.params
    inner = params.get("jaxpr", params.get("call_jaxpr"))
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())


def step_name(equation: Any) -> str:
    """The primitive's name, or that of the function it calls."""
    name = equation.params.get("name")
    if equation.primitive.name in (*_CALLS, *_CUSTOM):
        if not name:
            source = inner_jaxpr(equation)[0].debug_info.func_src_info or ""
            name = source.partition(" at ")[0]
        return (name or equation.primitive.name).strip("_")
    return equation.primitive.name


def changes_nothing(equation: Any) -> bool:
    """Whether an equation only tells JAX about a type it has already."""
    if equation.primitive.name != "convert_element_type":
        return False
    return equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype
