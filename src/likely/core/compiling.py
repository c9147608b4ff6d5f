"""JIT compilation with options that shorten compiling."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

import equinox as eqx
import jax

F = TypeVar("F", bound=Callable)
FAST_COMPILE_OPTIONS = {"xla_cpu_use_fusion_emitters": False}


def lean_jit(function: F) -> F:
    """`equinox.filter_jit` for a program that takes longer to compile than to run.

    On CPUs it compiles in two thirds of the time; elsewhere nothing changes. Do not use it
    for training loops: the compiled program may run at half the speed.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _compiled(function)(*args, **kwargs)

    return cast(F, call)


@cache
def _compiled(function: Callable) -> Callable:
    jit: Any = eqx.filter_jit
    return jit(function, compiler_options=_options())


@cache
def _options() -> dict[str, Any] | None:
    """The options, or None where this compiler does not know them."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda: 0, compiler_options=FAST_COMPILE_OPTIONS).lower().compile()
    except jax.errors.JaxRuntimeError:
        return None
    return FAST_COMPILE_OPTIONS
