"""The best step size of a finite difference."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from likely.autodiff.numerical.differences import STEPS, Call
from likely.autodiff.program.text import table
from likely.core.checks import InputError
from likely.core.precision import float64


@dataclass(frozen=True)
class StepAdvice:
    """The error of each method for many step sizes, and the best step size of each."""

    steps: np.ndarray = field(repr=False)
    errors: dict[str, np.ndarray] = field(repr=False)
    """The relative errors by method."""

    @property
    def best(self) -> dict[str, float]:
        """The step size whose neighbourhood has the smallest error, by method."""
        found = {}
        for method, error in self.errors.items():
            wide = np.pad(error, 1, mode="edge")
            around = np.maximum(np.maximum(wide[:-2], wide[1:-1]), wide[2:])
            found[method] = float(self.steps[np.argmin(around)])
        return found

    def __str__(self) -> str:
        rows = [
            (f"{h:.0e}", *(f"{e[k]:.1e}" for e in self.errors.values()))
            for k, h in enumerate(self.steps)
        ]
        advice = "; ".join(
            f"{m}: best near {h:.0e} (the rule says {STEPS[m]:.0e})"
            for m, h in self.best.items()
        )
        return f"{table(('step', *self.errors), rows)}\n{advice}"

    __repr__ = __str__


def step_advice(f: Callable, *args: Any, **options: Any) -> StepAdvice:
    """Measure how the error of finite differences depends on the step size.

    The reference is JAX's derivative. Large steps have a large truncation error, small
    ones a large rounding error; the best lies between.

    Args:
        f: a function from floats to a float.
        *args: arrays, numbers or pytrees.
        **options: `argnums`, `has_aux` and keyword arguments of `f`.
    """
    argnums, has_aux = options.pop("argnums", None), options.pop("has_aux", False)
    call = Call(f, args, options, argnums=argnums, has_aux=has_aux)
    steps = 10.0 ** -np.arange(1, 15)
    leaves = call.leaves
    scale = [np.maximum(1.0, np.abs(leaf)) for leaf in leaves]
    with float64():
        value, slope = jax.jvp(call.value, leaves, scale)
        if np.shape(value):
            raise InputError("step_advice needs a function that returns one number.")

        @jax.jit
        def run(h):
            pairs = zip(leaves, scale, strict=True)
            return call.value(*(x + h * s for x, s in pairs))

        above = np.array([run(h) for h in steps])
        below = np.array([run(-h) for h in steps])
    slopes = {
        "forward": (above - np.asarray(value)) / steps,
        "central": (above - below) / (2 * steps),
    }
    size = max(abs(float(slope)), np.finfo(float).tiny)
    return StepAdvice(
        steps,
        {name: np.abs(found - float(slope)) / size for name, found in slopes.items()},
    )
