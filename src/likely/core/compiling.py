"""How a program is compiled."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

import equinox as eqx
import jax

F = TypeVar("F", bound=Callable)
LEAN = {"xla_cpu_use_fusion_emitters": False}


def lean_jit(function: F) -> F:
    """`equinox.filter_jit` for a program that takes longer to compile than to run.

    On CPUs it is compiled in two thirds of the time; elsewhere nothing changes. The loop of
    minibatches would lose more by it than it gains: up to half of its speed.
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
    """`LEAN`, if this compiler knows it."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda: 0, compiler_options=LEAN).lower().compile()
    except jax.errors.JaxRuntimeError:
        return None
    return LEAN
