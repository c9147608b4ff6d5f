"""JIT compilation with options that shorten compiling."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

import equinox as eqx
import jax

from likely.core.devices import is_on_cpu
from likely.core.forks import check_not_forked

F = TypeVar("F", bound=Callable)
FAST_COMPILE_OPTIONS: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False}
LOW_LEVEL: dict[str, Any] = {"xla_backend_optimization_level": 1}


def lean_jit(function: F, *, low: bool = False) -> F:
    """`equinox.filter_jit` for a program that takes longer to compile than to run.

    On CPUs it compiles in two thirds of the time; elsewhere nothing changes. Do not use it
    for training loops: the compiled program may run at half the speed.

    Args:
        function: what to compile.
        low: whether to optimise little, which takes a third less again and costs nothing
            where matrix products take most of the time.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        check_not_forked()
        return _compiled(function, low, is_on_cpu())(*args, **kwargs)

    return cast(F, call)


@cache
def _compiled(function: Callable, low: bool, cpu: bool) -> Callable:
    jit: Any = eqx.filter_jit
    return jit(function, compiler_options=_options(low) if cpu else None)


@cache
def _options(low: bool = False) -> dict[str, Any] | None:
    """The options, or None where this compiler does not know them."""
    options = FAST_COMPILE_OPTIONS | (LOW_LEVEL if low else {})
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return None
    return options
