"""How a program is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx

F = TypeVar("F", bound=Callable)
LEAN = {"xla_cpu_use_fusion_emitters": False}


def lean_jit(function: F) -> F:
    """`equinox.filter_jit` for a program that runs once: compiled in two thirds of the time.

    A long loop would lose more by it than it gains: up to half of its speed.
    """
    jit: Any = eqx.filter_jit
    return jit(function, compiler_options=LEAN)
